"""Coordinate descent for linear models, by coordinates, by (feature, class) pairs and by groups."""

from spinney.optim.solvers.coordinate.descent import coordinate_descent, outputs_differ

__all__ = ["coordinate_descent", "outputs_differ"]
