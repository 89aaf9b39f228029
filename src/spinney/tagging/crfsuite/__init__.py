"""The interface of sklearn-crfsuite: programs that use it run with another import.

``from spinney.tagging import crfsuite as sklearn_crfsuite`` stands for ``import sklearn_crfsuite``, and
``from spinney.tagging.crfsuite import metrics, scorers`` for the import of its other two modules.
"""

from spinney.tagging.crfsuite.estimator import CRF

__all__ = ["CRF"]
