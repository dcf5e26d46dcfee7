"""Scorers for scikit-learn's model selection; takes the place of sklearn_crfsuite.scorers."""

from sklearn.metrics import make_scorer

from palmette.compat.metrics import flat_accuracy_score, sequence_accuracy_score

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
