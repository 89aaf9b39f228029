"""Merges of classes: the levels of bottom-up builders (Nelakanti 2014, §4.2.4).

Each takes Q of the active classes, of which there are two or more, and gives merges as pairs of places: 0 … A−1 are the
classes, A + m is what the m-th merge made.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from spinney.taxonomy.proximity import Array

Merges = list[tuple[int, int]]


def obyo(Q: Array) -> Merges:
    """OBYO: merge the pair with the smallest entry off the diagonal, add its rows and columns, and again.

    A level is as many merges as leave half of the classes; what was merged may be merged again, so that trees need not
    be balanced.

    Examples
    --------
    >>> obyo(np.array([[9.0, 1.0, -3.0, 2.0], [1.0, 9.0, 1.0, 5.0], [-3.0, 1.0, 9.0, -2.0], [2.0, 5.0, -2.0, 9.0]]))
    [(0, 2), (3, 4)]
    """
    n = len(Q)
    Q = Q.copy()
    np.fill_diagonal(Q, np.inf)
    places = list(range(n))
    nearest = Q.argmin(axis=1)
    smallest = Q[np.arange(n), nearest]
    merges: Merges = []
    while len(merges) < n // 2:
        p = int(smallest.argmin())
        q = int(nearest[p])
        merges.append((min(places[p], places[q]), max(places[p], places[q])))
        places[p] = n + len(merges) - 1
        Q[p] += Q[q]
        Q[p, p] = np.inf
        Q[:, p] = Q[p]
        Q[q], Q[:, q] = np.inf, np.inf
        # A row looks again if it has lost what was nearest to it; else the merged class may be nearer.
        closer = np.flatnonzero(Q[:, p] < smallest)
        nearest[closer], smallest[closer] = p, Q[closer, p]
        again = np.flatnonzero((nearest == p) | (nearest == q))
        again = np.append(again, [p, q])
        nearest[again] = Q[again].argmin(axis=1)
        smallest[again] = Q[again, nearest[again]]
    return merges


def hung(Q: Array) -> Merges:
    """HUNG: the cheapest pairing of all classes at once, by assignment.

    The assignment Q + ηI gives each class a partner. It need not be mutual: cycles of an even length fall into pairs at
    no cost, one of an odd length leaves one class single, the one that makes the rest cheapest. So the pairing is the
    cheapest one wherever no odd cycle comes up. The thesis leaves its constants open. Here η is infinite, and γ, the
    cost of staying single, is above every entry, so that no class would rather stay single and dummy columns (φ) play
    no part: levels are as nearly balanced as cycles allow.

    Examples
    --------
    >>> hung(np.array([[9.0, 1.0, -3.0, 2.0], [1.0, 9.0, 1.0, 5.0], [-3.0, 1.0, 9.0, -2.0], [2.0, 5.0, -2.0, 9.0]]))
    [(0, 1), (2, 3)]
    """
    n = len(Q)
    costs = Q.copy()
    np.fill_diagonal(costs, np.inf)
    partner = linear_sum_assignment(costs)[1].tolist()
    pairs: Merges = []
    seen = [False] * n
    for start in range(n):
        cycle, i = [], start
        while not seen[i]:
            seen[i] = True
            cycle.append(i)
            i = partner[i]
        pairs += _neighbours(cycle, Q)
    return sorted((min(pair), max(pair)) for pair in pairs)


def _neighbours(cycle: list[int], Q: Array) -> Merges:
    """The cheapest way to pair neighbours on a cycle, one of them left out if their number is odd."""
    m = len(cycle)
    options = []
    for turn in range(m if m % 2 else 2):
        turned = cycle[turn:] + cycle[:turn]
        options.append([(turned[k], turned[k + 1]) for k in range(0, m - 1, 2)])
    return min(options, key=lambda pairs: sum(float(Q[p, q]) for p, q in pairs))
