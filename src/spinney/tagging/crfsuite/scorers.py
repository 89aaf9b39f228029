"""Scorers for scikit-learn's ``cross_val_score``, ``GridSearchCV`` and the like, as in sklearn-crfsuite."""

from sklearn.metrics import make_scorer

from spinney.tagging.crfsuite.metrics import flat_accuracy_score, sequence_accuracy_score

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
