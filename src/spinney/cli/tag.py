"""``spinney tag``: labels for the tokens of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.options import Encoding, Json, OnError, Quiet, ReportOut, Seed, Threads, begin, emit
from spinney.cli.paths import write_path
from spinney.cli.structures import word_classes, word_vectors
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.tagging import Tagger
    from spinney.tagging.columns import Columns

app = typer.Typer(
    help="Sequence taggers: conditional random fields with any penalty, sparse and structured.",
    no_args_is_help=True,
)

Train = Annotated[
    list[str], typer.Argument(help="Files of labelled sentences; the last column is the label.")
]
Data = Annotated[str, typer.Argument(help="Sentences; - is standard input.")]
ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
Format = Annotated[
    str,
    typer.Option(help="columns, conllu, crfsuite, lines, letters, nettalk, nettalk-stress or cmudict."),
]
Preset = Annotated[str | None, typer.Option(help="A built-in set of patterns: chunk, ner, pos or g2p.")]
Patterns = Annotated[str | None, typer.Option(help="A template file, as of Wapiti or CRF++.")]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=FILE: word classes (a model of classes fit, or a Brown paths file); may be repeated."
    ),
]
Vectors = Annotated[
    list[str] | None,
    typer.Option(help="NAME=FILE: word vectors (a model of classes fit, or word2vec text); may be repeated."),
]
Kind = Annotated[str, typer.Option(help="crf, memm or hmm.")]
PenaltyName = Annotated[
    str,
    typer.Option(
        help="l2, l1, elasticnet, none, group-pattern, group-symbol, group-label, group-class (words of a class of "
        "--classes stand or fall together) or tree."
    ),
]
Lam = Annotated[float, typer.Option(help="The strength λ (the loss is a sum over sentences).")]
L1 = Annotated[float, typer.Option(help="The ℓ1 part of group penalties.")]
L2 = Annotated[float, typer.Option(help="The ridge part of elasticnet (½·l2·‖w‖²) and of group penalties.")]
SolverName = Annotated[
    str,
    typer.Option(help="auto, lbfgs, owlqn, active-set, sgd, adagrad, sbcd, cd, fista, perceptron or pa."),
]
Option = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE for the solver, such as kappa2=1.2; may be repeated.")
]
Tol = Annotated[float, typer.Option(help="Largest violation of optimality at which a fit counts as done.")]
MaxIter = Annotated[int, typer.Option(min=1, help="Iterations at most.")]
Passes = Annotated[int, typer.Option(min=1, help="Passes of the stochastic solvers.")]
Labels = Annotated[
    str, typer.Option(help="all: weights for every label; observed: for pairs seen in training.")
]
Start = Annotated[bool, typer.Option(help="Whether the first token has bigram weights, from a start label.")]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out observations made fewer times.")]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="The label _ is unknown, A|B is one of several: train on what is known."),
]
Scheme = Annotated[str | None, typer.Option(help="iob1, iob2 or bioes: give valid label sequences only.")]
Encode = Annotated[
    str | None,
    typer.Option(help="iob1, iob2 or bioes: learn phrase labels in this scheme; they come back as written."),
]
DocStart = Annotated[str, typer.Option(help="-DOCSTART- lines: drop or keep.")]


@app.command()
def fit(
    train: Train,
    model: Annotated[str, typer.Option(help="Where to write the model.")],
    preset: Preset = None,
    patterns: Patterns = None,
    classes: Classes = None,
    vectors: Vectors = None,
    kind: Kind = "crf",
    penalty: PenaltyName = "l2",
    lam: Lam = 1.0,
    l1: L1 = 0.0,
    l2: L2 = 0.0,
    solver: SolverName = "auto",
    option: Option = None,
    tol: Tol = 1e-3,
    max_iter: MaxIter = 500,
    passes: Passes = 10,
    labels: Labels = "all",
    start: Start = True,
    min_count: MinCount = 1,
    partial: Partial = False,
    scheme: Scheme = None,
    encode: Encode = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(help="Sentences without labels to learn from as well (columns as in training)."),
    ] = None,
    criterion: Annotated[
        str, typer.Option(help="How to use --unlabelled: weighted, shift, entropy or self-training.")
    ] = "weighted",
    rho: Annotated[float, typer.Option(help="The strength of --criterion entropy.")] = 1e-3,
    threshold: Annotated[
        float, typer.Option(help="How sure --criterion self-training must be of a sentence.")
    ] = 0.9,
    dev: Annotated[
        str | None, typer.Option(help="Stop when the token error on this file stops falling.")
    ] = None,
    patience: Annotated[
        int, typer.Option(min=1, help="Checks on --dev without progress before stopping.")
    ] = 5,
    init: Annotated[
        str | None, typer.Option(help="Start from this model (resume, or continue on more data).")
    ] = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train a tagger and write it to --model."""
    begin(quiet)
    check_target(model)
    from spinney.tagging import Tagger

    tagger = _tagger(
        preset, patterns, classes, vectors, format, model=kind, penalty=penalty, lam=lam, l1=l1, l2=l2, solver=solver,
        solver_options=_solver_options(option), tol=tol, max_iter=max_iter, passes=passes, labels=labels, start=start,
        min_count=min_count, partial=partial, criterion=criterion, rho=rho, threshold=threshold, scheme=scheme,
        encode=encode, patience=patience, threads=threads, random_state=seed,
    )  # fmt: skip
    columns, skipped = _labelled(train, format, encoding, on_error, docstart)
    held_out = _labelled([dev], format, encoding, on_error, docstart, columns.width)[0] if dev else None
    more = None
    if unlabelled:
        from spinney.tagging.reading import read_columns_of

        more = read_columns_of(unlabelled, format, encoding=encoding, on_error=on_error, docstart=docstart)  # type: ignore[arg-type]
    interrupted = False
    try:
        with about(", ".join([*train, *([unlabelled] if unlabelled else [])])):
            tagger.fit_columns(
                columns, dev=held_out, init=Tagger.load(init) if init else None, unlabelled=more
            )
    except KeyboardInterrupt:
        if not hasattr(tagger, "facts_"):
            raise
        interrupted = True
    tagger.facts_["skipped"] = skipped
    tagger.save(model)
    emit(as_json, {"path": model, **_plain_facts(tagger)}, lambda: _show_facts(f"Wrote {model}", tagger))
    return 130 if interrupted else 0


@app.command()
def apply(
    model: ModelIn,
    data: Data = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each label given.")] = False,
    nbest: Annotated[
        int, typer.Option(min=1, help="Give so many labellings of each sentence, best first.")
    ] = 1,
    decoding: Annotated[
        str, typer.Option(help="viterbi (best labelling) or posterior (best labels).")
    ] = "viterbi",
    scheme: Scheme = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="The last column says what is known of the labels: A, A|B, or _ for any."
        ),
    ] = False,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label sentences: each line comes back with its label added. Reads endless input as it comes."""
    begin(quiet)
    from spinney import progress
    from spinney.corpus import ReadReport, writing
    from spinney.tagging.reading import read_batches_of

    tagger = _loaded(model, decoding, scheme, threads)
    report = ReadReport()
    batches = read_batches_of(
        data, format, encoding=encoding, on_error=on_error, report=report, docstart=docstart  # type: ignore[arg-type]
    )  # fmt: skip
    if as_json:
        with about(data):
            labelled = [
                entry for columns in batches for entry in _entries(tagger, columns, proba, nbest, force)
            ]
        emit(True, {"sentences": labelled, "skipped": report.skipped}, lambda: None)
        return
    with about(data), writing(output) as file:
        for columns in batches:
            rows = [columns.strings(d) for d in range(columns.width)]
            bounds = columns.offsets.tolist()
            for i, entry in enumerate(_entries(tagger, columns, proba, nbest, force)):
                cells = [column[bounds[i] : bounds[i + 1]] for column in rows]
                file.write(_written(cells, entry, nbest))
            file.flush()
    if report.skipped:
        progress.log.warning("%d sentences passed over, the first: %s", report.skipped, report.errors[0])


def _entries(tagger: Tagger, columns: Columns, proba: bool, nbest: int, force: bool) -> list[dict[str, Any]]:
    """The labels of each sentence, with probabilities or with the next best if wanted."""
    if force and columns.width < 2:
        raise InputError("one column only: nothing to force", remedy="put what is known into a last column")
    inputs, allowed = tagger.force(columns) if force else (columns, None)
    if nbest > 1:
        return [
            {
                "labels": tagger.names_of(paths[0].labels),
                "nbest": [
                    {
                        "labels": tagger.names_of(path.labels),
                        "score": path.score,
                        "probability": path.probability,
                    }
                    for path in paths
                ],
            }
            for paths in tagger.kbest_columns(inputs, nbest, allowed)
        ]
    if proba:
        return [
            {"labels": labels, "probabilities": chances}
            for labels, chances in tagger.label_columns_with_probabilities(inputs, allowed)
        ]
    return [{"labels": labels} for labels in tagger.label_columns(inputs, allowed)]


def _written(cells: list[list[str]], entry: dict[str, Any], nbest: int) -> str:
    """One sentence as lines: its columns, the label and, if wanted, the probability."""
    ways = entry["nbest"] if nbest > 1 else [entry]
    lines = []
    for rank, way in enumerate(ways):
        if nbest > 1:
            lines.append(f"# {rank + 1} {way['score']:.6f} {way['probability']:.6f}")
        columns = [*cells, way["labels"]]
        if "probabilities" in way:
            columns.append([f"{chance:.6f}" for chance in way["probabilities"]])
        lines += ["\t".join(row) for row in zip(*columns)]
        lines.append("")
    return "\n".join(lines) + "\n"


@app.command()
def eval(
    model: ModelIn,
    data: Data,
    conlleval: Annotated[
        bool, typer.Option("--conlleval", help="Print the scores as conlleval does.")
    ] = False,
    decoding: Annotated[str, typer.Option(help="viterbi or posterior.")] = "viterbi",
    scheme: Scheme = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Token error, sequence error and phrase scores on labelled sentences."""
    begin(quiet)
    from spinney.evaluate import conlleval_report

    tagger = _loaded(model, decoding, scheme, threads)
    columns, skipped = _labelled([data], format, encoding, on_error, docstart)
    with about(data):
        scores = tagger.score_columns(columns)
    seen = {text for text, used in zip(columns.pool, _used(columns)) if used}
    unseen = sorted(seen - set(tagger.written_labels))
    scores |= {"active": tagger.facts_.get("active"), "unseen_labels": unseen, "skipped": skipped}
    if conlleval and not as_json:
        if "f1" not in scores:
            raise InputError(
                "the labels are not of phrases (B-X, I-X, O)", path=data, remedy="leave out --conlleval"
            )
        print(conlleval_report(scores), end="")
        return
    emit(as_json, scores, lambda: _show_scores(scores))


@app.command()
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
        **_plain_facts(tagger),
        "strongest": strongest,
        "active_by_pattern": patterns,
        "likely_transitions": likely,
        "unlikely_transitions": unlikely,
        "bigrams_with_symbol": bigrams,
        "orphan_bigrams": orphans,
    }

    def show() -> None:
        from spinney.report.tables import show_rows, show_words

        _show_facts(model, tagger)
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


@app.command()
def path(
    train: Train,
    dev: Annotated[str | None, typer.Option(help="Sentences to score each model on.")] = None,
    lams: Annotated[
        str | None, typer.Option(help="Strengths, as 4,2,1; by default a grid from the largest.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="How many strengths.")] = 10,
    ratio: Annotated[float, typer.Option(help="The last strength, as a share of the first.")] = 1e-2,
    model: Annotated[
        str | None, typer.Option(help="Where to write the model with the lowest error on --dev.")
    ] = None,
    report: ReportOut = None,
    preset: Preset = None,
    patterns: Patterns = None,
    classes: Classes = None,
    vectors: Vectors = None,
    penalty: PenaltyName = "elasticnet",
    l1: L1 = 0.0,
    l2: L2 = 0.01,
    solver: SolverName = "auto",
    option: Option = None,
    tol: Tol = 1e-3,
    max_iter: MaxIter = 500,
    labels: Labels = "all",
    start: Start = True,
    min_count: MinCount = 1,
    encode: Encode = None,
    format: Format = "columns",
    docstart: DocStart = "drop",
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The regularisation path: error on --dev, active weights and seconds at each strength λ, warm-started."""
    begin(quiet)
    if model is not None:
        check_target(model)
        if dev is None:
            raise OptionError("--model keeps the best model on --dev: give --dev")
    if report is not None:
        check_target(report)
    if not 0 < ratio < 1:
        raise OptionError(f"--ratio lies between 0 and 1, not {ratio:g}")
    tagger = _tagger(
        preset, patterns, classes, vectors, format, penalty=penalty, l1=l1, l2=l2, solver=solver,
        solver_options=_solver_options(option), tol=tol, max_iter=max_iter, labels=labels, start=start,
        min_count=min_count, encode=encode, threads=threads, random_state=seed,
    )  # fmt: skip
    strengths = _numbers(lams)
    columns, _ = _labelled(train, format, encoding, on_error, docstart)
    held_out = _labelled([dev], format, encoding, on_error, docstart, columns.width)[0] if dev else None
    from spinney.tagging import Tagger

    rows: list[dict[str, Any]] = []
    collected = None
    if report is not None:
        from spinney.report.path_page import TaggerPath

        collected = TaggerPath()
    with about(", ".join(train)):
        for point in tagger.path(columns, strengths, dev=held_out, n=points, ratio=ratio):
            row = {"lam": point.lam, "active": point.n_active, "seconds": point.seconds}
            row |= {"objective": point.objective, "violation": point.violation}
            row |= {name: point.scores[name] for name in ("token_error", "f1") if name in point.scores}
            if model is not None and all(row["token_error"] < old["token_error"] for old in rows):
                tagger.save(model)
            rows.append(row)
            if collected is not None:
                collected.add(tagger, point, _path_scores(tagger, point, columns))
    if model is not None:  # the best is on disk, and now it is known what it was chosen from
        best = Tagger.load(model)
        best.facts_["tried"] = rows
        best.save(model)
    facts: dict[str, Any] = {"points": rows}
    if report is not None and collected is not None:
        known = {"sentences": len(columns), "tokens": columns.n_tokens, "labels": len(tagger.labels_)}
        what = f"The regularisation path of a tagger: models of one penalty ({penalty}), λ falling."
        write_path(report, collected.path(), ", ".join(train), what, known)
        facts["report"] = report

    def show() -> None:
        from spinney.report.tables import show_rows

        header = list(rows[0]) if rows else []
        show_rows("Regularisation path", header, [list(row.values()) for row in rows])

    emit(as_json, facts, show)


def _path_scores(tagger: Tagger, point: Any, train: Columns) -> dict[str, float]:
    """The scores of a point for its page: on held-out sentences if there are any, and on those of training."""
    known = (("dev", point.scores), ("training", tagger.score_columns(train)))
    names = {"token_error": "token error", "f1": "F1"}
    return {
        f"{of} {name}": scores[key] for key, name in names.items() for of, scores in known if key in scores
    }


def _tagger(
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
    _check_scheme(parameters.get("scheme"))
    _check_scheme(parameters.get("encode"), "--encode")
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


def _loaded(model: str, decoding: str, scheme: str | None, threads: int | None) -> Tagger:
    """A fitted tagger, set to label in this way."""
    from spinney.tagging import Tagger

    if decoding not in ("viterbi", "posterior"):
        raise unknown_choice("--decoding is", decoding, ("viterbi", "posterior"))
    _check_scheme(scheme)
    tagger = Tagger.load(model)
    tagger.set_params(decoding=decoding, threads=threads, **({"scheme": scheme} if scheme else {}))
    return tagger


def _check_scheme(scheme: str | None, option: str = "--scheme") -> None:
    if scheme not in (None, "iob1", "iob2", "bioes"):
        raise unknown_choice(f"{option} is", scheme, ("iob1", "iob2", "bioes"))


def _labelled(
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


def _used(columns: Columns) -> list[bool]:
    """Which strings of the pool are labels of these columns."""
    import numpy as np

    used = np.zeros(len(columns.pool), bool)
    used[columns.symbols[-1]] = True
    return [bool(yes) for yes in used]


def _solver_options(pairs: list[str] | None) -> dict[str, Any] | None:
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


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--lams are numbers parted by commas, not {text!r}") from None
    if not all(0 <= number < float("inf") for number in numbers):
        raise OptionError(f"--lams are finite and not below 0: {text}")
    return numbers


def _plain_facts(tagger: Tagger) -> dict[str, Any]:
    """What is known of a fit; what is not a number (counts have no violation) is null in JSON."""
    return {name: None if value != value else value for name, value in tagger.facts_.items()}


def _show_facts(title: str, tagger: Tagger) -> None:
    from spinney.report.tables import show_facts

    plain = {name: value for name, value in tagger.facts_.items() if not isinstance(value, dict | list)}
    show_facts(title, {name.replace("_", " "): value for name, value in plain.items()})


def _show_scores(scores: dict[str, Any]) -> None:
    from spinney.report.tables import show_facts, show_rows

    show_facts("Scores", {name.replace("_", " "): value for name, value in scores.items() if name != "types"})
    if "types" in scores:
        keys = ("precision", "recall", "f1", "phrases", "found")
        rows = [[kind, *(row[key] for key in keys)] for kind, row in scores["types"].items()]
        show_rows("By type", ["type", *keys], rows)
