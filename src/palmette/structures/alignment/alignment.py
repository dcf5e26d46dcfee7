from palmette.structures.alignment.sum_answers import SumAnswers
class Alignment(SumAnswers):
    def __init__(self, long_gaps=False, memory_limit=None):
        self.long_gaps=long_gaps; self.memory_limit=memory_limit
