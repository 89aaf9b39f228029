"""``spinney parse inspect``: labels, rules and latent states in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about
from spinney.cli.options import Json, Quiet, Seed, Threads, begin, emit
from spinney.cli.parse_fit import show_facts
from spinney.cli.parse_text import ModelIn, load_model
from spinney.errors import OptionError

if TYPE_CHECKING:
    from spinney.parsing.automata import HeadAutomata
    from spinney.parsing.automata_reading import SideReading
    from spinney.parsing.parser import Parser
    from spinney.parsing.reading import LabelReading, LabelRow, Share


def inspect(
    model: ModelIn,
    label: Annotated[
        list[str] | None,
        typer.Option(help="This label in words, such as NP (of head automata: this tag); may be repeated."),
    ] = None,
    labels: Annotated[int, typer.Option(min=1, help="How many labels, the most frequent.")] = 15,
    top: Annotated[int, typer.Option(min=1, help="How many words, rules and parents of each.")] = 8,
    states: Annotated[int, typer.Option(min=1, help="How many states of a label, the most frequent.")] = 8,
    grammar: Annotated[int, typer.Option(min=1, help="Which of several grammars, from 1.")] = 1,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The labels of a grammar and what their latent states stand for; what hangs on each tag in head automata."""
    begin(quiet)
    from spinney.parsing.parser import Parser

    fitted = load_model(model, threads)
    with about(model):
        if isinstance(fitted, Parser):
            _inspect_parser(fitted, model, label or [], labels, top, states, grammar, as_json)
        else:
            _inspect_automata(fitted, model, label or [], labels, top, as_json)


# ---------------------------------------------------------------------------------------- grammars


def _inspect_parser(
    parser: Parser,
    path: str,
    wanted: Sequence[str],
    n_labels: int,
    top: int,
    n_states: int,
    grammar: int,
    as_json: bool,
) -> None:
    from spinney.parsing.reading import Reader

    if grammar > len(parser.grammars_):
        raise OptionError(f"--grammar: this model has {len(parser.grammars_)}")
    reader = Reader(parser, grammar - 1)
    table = reader.table()
    # A part of a phrase, which only binary trees have, is shown if it is asked for.
    chosen = list(wanted) or [row.label for row in table if row.rules and not row.part][:1]
    readings = [reader.label(name, top) for name in chosen]
    facts = {
        "method": parser.method,
        "grammars": len(parser.grammars_),
        **{name: value for name, value in parser.facts_.items() if name != "learning"},
        "label_table": [row._asdict() for row in table],
        "described": [_as_dict(reading) for reading in readings],
    }

    def show() -> None:
        if not wanted:
            show_facts(path, facts)
            _show_labels(table, n_labels)
        for reading in readings:
            _show_reading(reading, n_states)

    emit(as_json, facts, show)


def _show_labels(table: Sequence[LabelRow], n: int) -> None:
    from spinney.report.tables import show_rows

    whole = [row for row in table if not row.part]
    rows = [[row.label, f"{row.share:.2%}", row.states, row.rules, row.words] for row in whole[:n]]
    title = f"The {len(rows)} most frequent of {len(whole)} labels; share of the nodes of binary trees"
    show_rows(title, ["label", "share", "states", "rules", "words"], rows)


def _show_reading(reading: LabelReading, n_states: int) -> None:
    from spinney.report.tables import show_rows

    kinds = {"words": reading.words, "rules": reading.rules, "below": reading.parents}
    rows = [[name, _listed(shares)] for name, shares in kinds.items() if shares]
    show_rows(
        f"{reading.label}: {reading.share:.2%} of the nodes, {_states(reading)}", ["", "probability"], rows
    )
    if reading.signed:
        print("The states of a spectral grammar are coordinates without a meaning of their own.")
        some = [[d.number, ", ".join(d.high), ", ".join(d.low)] for d in reading.directions[:n_states]]
        if some:
            show_rows("Words at the ends of the directions", ["direction", "one end", "the other"], some)
        return
    if reading.n_states < 2:
        return
    cells = []
    for state in reading.states[:n_states]:
        shares = state.typical_words or state.typical_rules or state.words or state.rules
        cells.append(
            [state.number, f"{state.share:.1%}", _listed(shares), _listed(state.typical_parents[:3])]
        )
    of = (
        f"the {n_states} most frequent of {reading.n_states} states"
        if n_states < reading.n_states
        else "its states"
    )
    title = f"{reading.label}: {of}, and what is typical of them"
    show_rows(title, ["state", "share", "words" if reading.words else "rules", "below"], cells)


def _states(reading: LabelReading) -> str:
    return f"{reading.n_states} state{'s' * (reading.n_states > 1)}"


def _listed(shares: Sequence[Share]) -> str:
    return "  ".join(f"{share.name} {share.probability:.2f}" for share in shares)


def _as_dict(value: Any) -> Any:
    """Named tuples as objects."""
    if hasattr(value, "_asdict"):
        return {name: _as_dict(item) for name, item in value._asdict().items()}
    return [_as_dict(item) for item in value] if isinstance(value, list) else value


# ----------------------------------------------------------------------------------- head automata


def _inspect_automata(
    model: HeadAutomata, path: str, wanted: Sequence[str], n_labels: int, top: int, as_json: bool
) -> None:
    from spinney.parsing.automata_reading import describe_head, describe_heads

    found = [side for head in wanted for side in describe_head(model, head, top)] or describe_heads(
        model, top
    )
    facts = {
        "method": f"automata, {model.method}",
        "column": model.column,
        **{name: value for name, value in model.facts_.items() if name != "trace"},
        "heads": [_as_dict(side) for side in found],
    }

    def show() -> None:
        if not wanted:
            show_facts(path, facts)
        _show_sides(found if wanted else [*found[: 2 * n_labels], *found[2 * n_labels :][-1:]])

    emit(as_json, facts, show)


def _show_sides(sides: Sequence[SideReading]) -> None:
    from spinney.report.tables import show_rows

    rows = [
        [
            side.head, side.side, side.states, f"{side.mean:.2f}", f"{side.none:.0%}",
            "  ".join(f"{modifier.tag} {modifier.expected:.2f}" for modifier in side.modifiers),
        ]
        for side in sides
    ]  # fmt: skip
    header = ["head", "side", "states", "modifiers", "none", "which, and how many"]
    show_rows("What hangs on each tag", header, rows)
