"""Which labels are taken for which others, as a matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from spinney.views import HeatMap

_ABOUT = "Rows: the true {of}. Columns: the predicted {of}. Shading: share of the row."


def confusion_map(
    truth: Iterable[str],
    predicted: Iterable[str],
    labels: Iterable[str] = (),
    *,
    of: str = "label",
    most: int = 40,
) -> HeatMap:
    """How often each label was predicted where another was true.

    Parameters
    ----------
    truth, predicted
        The labels of the same examples.
    labels
        The labels in their order; others that occur come after them.
    of
        What a label is called.
    most
        If there are more labels, only the most frequent ones are shown.

    Examples
    --------
    >>> confusion_map(["a", "a", "b"], ["a", "b", "b"]).values
    [[1, 1], [0, 1]]
    """
    pairs = Counter(zip(truth, predicted, strict=True))
    counts: Counter[str] = Counter()
    for pair, n in pairs.items():
        counts.update(dict.fromkeys(pair, n))
    every = list(dict.fromkeys([*labels, *sorted(counts)]))
    kept = set(sorted(every, key=lambda label: -counts[label])[:most])
    shown = [label for label in every if label in kept]
    values = [[pairs[row, column] for column in shown] for row in shown]
    totals: Counter[str] = Counter()
    for (true, _), n in pairs.items():
        totals[true] += n
    shares = [[n / max(totals[label], 1) for n in row] for label, row in zip(shown, values)]
    about = _ABOUT.format(of=of)
    if len(shown) < len(every):
        about += f" The {len(shown)} most frequent of {len(every):,}."
    return HeatMap("confusions", "", values, shown, shown, shares, about)


def plot_confusion(found: HeatMap, ax: Any = None, *, of: str = "label") -> Any:
    """Draw the matrix with Matplotlib (extra ``plots``), into ``ax`` if it is given; returns the axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> plot_confusion(confusion_map(["a", "a", "b"], ["a", "b", "b"])).get_ylabel()
    'true label'
    """
    # The axes say what rows and columns are; only what was left out is still to say.
    left_out = found.caption.removeprefix(_ABOUT.format(of=of)).strip()
    ax = replace(found, title=left_out, caption="").plot(ax)
    ax.set_xlabel(f"predicted {of}")
    ax.set_ylabel(f"true {of}")
    return ax
