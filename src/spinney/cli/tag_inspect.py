"""``spinney tag inspect``: what a tagger looks at, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spinney.cli.options import Json, Quiet, Seed, Threads, begin, emit
from spinney.cli.tag_data import plain_facts, show_facts
from spinney.cli.tag_options import ModelIn

if TYPE_CHECKING:
    pass


def inspect(
    model: ModelIn,
    top: Annotated[int, typer.Option(min=1, help="How many observations a label or pattern.")] = 8,
    by: Annotated[str, typer.Option(help="Strongest observations by label or by pattern.")] = "label",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """What a tagger learnt: the strongest observations and transitions, and what is active under each pattern."""
    begin(quiet)
    from spinney.tagging import Tagger

    tagger = Tagger.load(model)
    strongest, patterns = tagger.strongest(top, by), tagger.active_by_pattern()
    likely, unlikely = tagger.transitions(top)
    bigrams, orphans = tagger.orphans()
    facts = {
        **plain_facts(tagger),
        "strongest": strongest,
        "active_by_pattern": patterns,
        "likely_transitions": likely,
        "unlikely_transitions": unlikely,
        "bigrams_with_symbol": bigrams,
        "orphan_bigrams": orphans,
    }

    def show() -> None:
        from spinney.report.tables import show_rows, show_words

        show_facts(model, tagger)
        show_words(strongest)
        rows = [[*row] for row in (*likely, *reversed(unlikely))]
        show_rows("Transitions", ["seen", "before", "label", "weight"], rows)
        counts = [[text, *pair] for text, pair in patterns.items()]
        show_rows("Active weights by pattern", ["pattern", "unigram", "bigram"], counts)
        if bigrams:
            print(
                f"{bigrams} active bigram weights have a unigram of the same symbol; of {orphans} it is zero."
            )

    emit(as_json, facts, show)
