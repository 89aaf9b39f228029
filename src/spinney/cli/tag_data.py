"""What the verbs of ``spinney tag`` read and make: labelled sentences, a tagger, its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spinney.cli.structures import word_classes, word_vectors
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns


def tagger_of(
    preset: str | None,
    patterns: str | None,
    classes: list[str] | None,
    vectors: list[str] | None,
    format: str,
    **parameters: Any,
) -> Tagger:
    """A tagger with these options, its patterns and structures read."""
    from spinney.tagging import Tagger
    from spinney.tagging.patterns import read_patterns
    from spinney.tagging.presets import PRESETS

    if preset is not None and patterns is not None:
        raise OptionError("--preset and --patterns are two ways to say what to look at: give one")
    if preset is not None and preset not in PRESETS:
        raise OptionError(
            f"there is no preset {preset!r}; there are {', '.join(PRESETS)}", given=preset, known=PRESETS
        )
    check_scheme(parameters.get("scheme"))
    check_scheme(parameters.get("encode"), "--encode")
    structures: dict[str, Any] = {}
    for pairs, read in ((classes, word_classes), (vectors, word_vectors)):
        for pair in pairs or []:
            name, equals, file = pair.partition("=")
            if not equals or not name or not file:
                raise OptionError(f"{pair!r} is not NAME=FILE")
            structures[name] = read(file)
    what: Any = preset
    if patterns is not None:
        what = read_patterns(patterns)
    elif preset is None:
        by_format = {"crfsuite": "U:%value[0,0]\nB", "conllu": "pos", "lines": "pos"}
        what = by_format.get(
            format, "g2p" if format in ("nettalk", "nettalk-stress", "cmudict", "letters") else None
        )
        if parameters.get("model") == "hmm":
            what = "U:%x[0,0]\nB"
        if what is None:
            raise OptionError("say what to look at: --preset chunk, ner, pos or g2p, or --patterns FILE")
    return Tagger(what, structures=structures or None, **parameters)


def load_tagger(model: str, decoding: str, scheme: str | None, threads: int | None) -> Tagger:
    """A fitted tagger, set to label in this way."""
    from spinney.tagging import Tagger

    if decoding not in ("viterbi", "posterior"):
        raise unknown_choice("--decoding is", decoding, ("viterbi", "posterior"))
    check_scheme(scheme)
    tagger = Tagger.load(model)
    tagger.set_params(decoding=decoding, threads=threads, **({"scheme": scheme} if scheme else {}))
    return tagger


def check_scheme(scheme: str | None, option: str = "--scheme") -> None:
    if scheme not in (None, "iob1", "iob2", "bioes"):
        raise unknown_choice(f"{option} is", scheme, ("iob1", "iob2", "bioes"))


def read_labelled(
    paths: list[str], format: str, encoding: str, on_error: str, docstart: str, width: int | None = None
) -> tuple[Columns, int]:
    """All sentences of some files, with ``width`` columns if given, and how many were passed over."""
    from spinney.corpus import ReadReport
    from spinney.tagging.reading import FORMATS, read_columns_of

    with_labels = [name for name in FORMATS if name not in ("lines", "letters")]
    if format not in with_labels:
        what = "has no labels" if format in FORMATS else "is not known"
        raise OptionError(
            f"--format {format!r} {what}; those with labels are {', '.join(with_labels)}",
            given=format,
            known=with_labels,
        )
    if on_error not in ("raise", "skip"):
        raise unknown_choice("--on-error is", on_error, ("raise", "skip"))
    report = ReadReport()
    columns = read_columns_of(
        paths, format, encoding=encoding, on_error=on_error, report=report, docstart=docstart  # type: ignore[arg-type]
    )  # fmt: skip
    if not columns.n_tokens:
        raise InputError("no sentences", path=", ".join(paths))
    if columns.width < 2:
        raise InputError(
            "one column only: no labels", path=paths[0], remedy="put the label into a last column"
        )
    if width not in (None, columns.width):
        what = f"{columns.width} columns where the training data have {width}"
        raise InputError(what, path=paths[0], remedy="give it the same columns, the label last")
    return columns, report.skipped


def used_texts(columns: Columns) -> list[bool]:
    """Which strings of the pool are labels of these columns."""
    import numpy as np

    used = np.zeros(len(columns.pool), bool)
    used[columns.symbols[-1]] = True
    return [bool(yes) for yes in used]


def solver_options(pairs: list[str] | None) -> dict[str, Any] | None:
    """NAME=VALUE, where values are numbers, yes or no, or words."""
    if not pairs:
        return None
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise OptionError(f"{pair!r} is not NAME=VALUE")
        found[name] = _value(text)
    return found


def _value(text: str) -> Any:
    if text in ("yes", "true", "no", "false"):
        return text in ("yes", "true")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def plain_facts(tagger: Tagger) -> dict[str, Any]:
    """What is known of a fit; what is not a number (counts have no violation) is null in JSON."""
    return {name: None if value != value else value for name, value in tagger.facts_.items()}


def show_facts(title: str, tagger: Tagger) -> None:
    from spinney.report.tables import show_facts

    plain = {name: value for name, value in tagger.facts_.items() if not isinstance(value, dict | list)}
    show_facts(title, {name.replace("_", " "): value for name, value in plain.items()})
