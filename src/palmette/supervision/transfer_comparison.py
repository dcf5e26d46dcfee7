"""x"""
class TransferComparison: pass
def compare_transfer(): pass
