"""What a classifier looks like in a terminal: its size, its groups, and the sentences of a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spinney.classify.readout import (
    HIDDEN,
    GroupStatus,
    GroupView,
    ModelSize,
    SentenceLogOdds,
    Word,
    WordSpan,
)
from spinney.report.tables import console, show_rows
from spinney.structure.words import short

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = ("cyan", "yellow", "green", "magenta", "red", "blue")
_BAR = 12  # cells of the longest bar


def show_size(size: ModelSize) -> None:
    """How many weights are not 0: in all, and of each class.

    Examples
    --------
    >>> show_size(ModelSize(6, 2, 6, 2, {"+": 1, "-": 1}))
    Size: 2 of 6 weights are not 0 (33.33%), on 2 of 6 features
    ...
    """
    title = (
        f"Size: {size.active:,} of {size.parameters:,} weights are not 0 ({size.share:.2%}), "
        f"on {size.active_features:,} of {size.features:,} features"
    )
    if size.by_class:
        show_rows(title, ["class", "weights"], [[label, count] for label, count in size.by_class.items()])
    else:  # along a tree of classes weights are not of classes
        print(title)


def show_groups(status: GroupStatus, outputs: Sequence[str]) -> None:
    """How many groups were selected and removed, and the foremost of both with their words, coloured by class."""
    print(f"Groups: {status.n_selected:,} selected, {status.n_removed:,} removed")
    if status.families:
        rows = [[family, selected, removed] for family, (selected, removed) in status.families.items()]
        show_rows("", ["family", "selected", "removed"], rows)
    _show_views("Selected, by norm", status.selected, outputs, normed=True)
    _show_views("Removed, by weight in the penalty", status.removed, outputs, normed=False)


def _show_views(title: str, views: Sequence[GroupView], outputs: Sequence[str], normed: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    if not views:
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("group", ratio=2, overflow="fold")
    for name in ["norm", "active"] if normed else ["weight", "size"]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("words", ratio=5)
    for view in views:
        numbers = [f"{view.norm:.3g}", f"{view.active:,}/{view.size:,}"]
        if not normed:
            numbers = [f"{view.weight:.3g}", f"{view.size:,}"]
        table.add_row(Text(view.name), *numbers, _listed(view, outputs))
    out = console()
    out.print(Text(title, style="italic"))
    out.print(table)


def _listed(view: GroupView, outputs: Sequence[str]) -> Text:
    """The words of a group class by class, so that it can be read without colours too; those without weight last.

    What speaks against a class has a minus.
    """
    from rich.text import Text

    text = Text()
    for label in outputs:
        of_class = [word for word in view.words if word.label == label and abs(word.weight) > HIDDEN]
        if of_class:
            text.append(f"{'  ' if text else ''}{short(label)}: ", "dim")
            for i, word in enumerate(of_class):
                text.append(", " if i else "")
                text.append("−" * (word.weight < 0) + short(word.word), _style(word, outputs))
    rest = [short(word.word) for word in view.words if abs(word.weight) <= HIDDEN]
    if rest:
        text.append(("  " if text else "") + ", ".join(rest), "dim")
    if view.size > len(view.words):
        text.append(" …", "dim")
    return text


def _style(word: Word | WordSpan, outputs: Sequence[str]) -> str:
    """The colour of the class; what speaks against it is underlined."""
    colour = _STYLES[outputs.index(word.label) % len(_STYLES)]
    return colour if word.weight > 0 else f"{colour} underline"


def show_document(
    title: str, odds: SentenceLogOdds, spans: Sequence[Sequence[WordSpan]], outputs: Sequence[str]
) -> None:
    """The sentences of a document, each with a bar for its log-odds, its words coloured by class.

    Parameters
    ----------
    spans
        Of each sentence :func:`~spinney.classify.readout.words_in`.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(width=_BAR)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    most = max((abs(float(score)) for score in odds.scores), default=0.0) or 1.0
    for sentence, score, seen, words in zip(odds.sentences, odds.scores.tolist(), odds.shown, spans):
        text = Text(sentence)
        for span in words:
            if abs(span.weight) > HIDDEN:
                text.stylize(_style(span, outputs), span.start, span.stop)
        cells = max(1, round(_BAR * abs(score) / most)) if seen else 0
        drawn = Text(("█" if score > 0 else "░") * cells)
        table.add_row(drawn, f"{score:+.3f}" if seen else "", text)
    out = console()
    out.print(Text(title, style="italic"), soft_wrap=True)
    out.print(table)
