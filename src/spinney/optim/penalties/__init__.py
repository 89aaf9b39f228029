"""Penalties λΩ(w): value, prox, optimality residual and the strength that makes 0 optimal.

All act on a flat float64 vector of the penalised coordinates. See :class:`spinney.optim.base.Penalty` for the
contract and :mod:`spinney.optim.penalties.elastic` for what more some offer (``grad``, ``l1_l2``).
"""

from __future__ import annotations

from spinney.optim.penalties.composite import Composite
from spinney.optim.penalties.elastic import L0, L1, L2, ElasticNet, NoPenalty, WeightedL2
from spinney.optim.penalties.fused import Fused
from spinney.optim.penalties.groups import FlatGroups, GroupL2, GroupLinf
from spinney.optim.penalties.latent import LatentGroups
from spinney.optim.penalties.matrix import Nuclear
from spinney.optim.penalties.nonnegative import NonNegative
from spinney.optim.penalties.output_tree import OutputTree
from spinney.optim.penalties.overlap import OverlappingGroups
from spinney.optim.penalties.pairwise import PairwiseElasticNet
from spinney.optim.penalties.partial import Partial
from spinney.optim.penalties.slope import Slope
from spinney.optim.penalties.timeseries import TimeSeries
from spinney.optim.penalties.trace import TraceLasso
from spinney.optim.penalties.tree import TreeL2, TreeLinf

__all__ = [
    "L0",
    "L1",
    "L2",
    "Composite",
    "ElasticNet",
    "FlatGroups",
    "Fused",
    "GroupL2",
    "GroupLinf",
    "LatentGroups",
    "NoPenalty",
    "NonNegative",
    "Nuclear",
    "OutputTree",
    "OverlappingGroups",
    "PairwiseElasticNet",
    "Partial",
    "Slope",
    "TimeSeries",
    "TraceLasso",
    "TreeL2",
    "TreeLinf",
    "WeightedL2",
]
