"""``spinney lm fit``: language models from text."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinney.cli.inputs import about, check_target
from spinney.cli.lm_text import held_out_text, reading_vocabulary, training_text, with_marks
from spinney.cli.options import Encoding, Json, OnError, Quiet, Seed, Threads, begin, emit
from spinney.cli.structures import class_tree, is_model, word_classes
from spinney.cli.textfiles import Format, Header, Parser, Reading, Source, TextColumn, numbered
from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.corpus import ReadReport, TokenArrays, Vocabulary
    from spinney.lm.model import LanguageModel
    from spinney.structure import ClassTree

#: How :func:`spinney.lm.smoothing.fit_ngram` calls the smoothed n-gram models.
_NGRAM: dict[str, tuple[str, dict[str, Any]]] = {
    "mkn": ("modified-kneser-ney", {}),
    "kn": ("kneser-ney", {}),
    "kn-backoff": ("kneser-ney", {"backoff": True}),
    "wb": ("witten-bell", {}),
    "ad": ("absolute", {}),
    "jm": ("jelinek-mercer", {}),
    "katz": ("katz", {}),
    "good-turing": ("good-turing", {}),
    "additive": ("additive", {}),
}
_METHODS = (*_NGRAM, "pitman-yor", "memoizer", "loglinear", "hierarchical", "class")
_UNBOUNDED = ("memoizer", "loglinear", "hierarchical")
_LOGLINEAR = ("loglinear", "hierarchical")
_SOLVERS = ("words", "fista", "ista", "sage")
#: Options that not every method knows, with those that do.
_TAKEN_BY: dict[str, tuple[str, ...]] = {
    "discount": ("kn", "kn-backoff", "ad"),
    "add": ("additive",),
    "memory": tuple(_NGRAM),
    "sweeps": ("pitman-yor", "memoizer"),
    **dict.fromkeys(("penalty", "lam", "alpha", "solver", "tol", "max_iter", "collapse"), _LOGLINEAR),
    "tree": ("hierarchical",),
    "classes": ("class", "hierarchical"),
}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def fit(
    train: Annotated[list[str], typer.Argument(help="Files of text, or folders; - is standard input.")],
    model: Annotated[str, typer.Option("--model", help="Where to write the model.")],
    method: Annotated[str, typer.Option(help=f"{', '.join(_METHODS)}.")] = "mkn",
    order: Annotated[
        str | None,
        typer.Option(
            help="Words of the longest grams, or unbounded (memoizer, loglinear, hierarchical). By default 5, of a "
            "memoizer unbounded.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(help="Held-out text: weights of jm, the choice of --lam and --alpha, perplexity."),
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="kn, kn-backoff, ad: taken from every count (default: by counts).")
    ] = None,
    add: Annotated[
        float | None, typer.Option(help="additive: added to every count (default: 1).", show_default=False)
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="pitman-yor, memoizer: sweeps of the sampler (default: 50); 0: a table for each gram, none sampled.",
            show_default=False,
        ),
    ] = None,
    penalty: Annotated[
        str | None,
        typer.Option(
            help="loglinear, hierarchical: tree-l2 (default), tree-linf (default if unbounded), l1, l2 or none."
        ),
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            help="loglinear, hierarchical: λ (default: 0.7); several, 1,0.7,0.5, are tried on --dev."
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            help="loglinear, hierarchical: a context of k words is a feature of α^k (default: 1.1, unbounded 1); "
            "several are tried on --dev."
        ),
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="loglinear, hierarchical: words (default), fista, ista or sage.")
    ] = None,
    tol: Annotated[
        float | None, typer.Option(min=0, help="loglinear, hierarchical: violation to stop at.")
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="loglinear, hierarchical: iterations at most.")
    ] = None,
    collapse: Annotated[
        bool | None,
        typer.Option(
            "--collapse/--no-collapse",
            help="loglinear, hierarchical: whether contexts that always come together share a weight "
            "(default: where that loses nothing).",
        ),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            help="hierarchical: huffman (default), classes (of --classes), taxonomy (learnt from which words follow "
            "which), or a file: a tree (Newick, JSON or a ClassTree) or word classes, as of --classes."
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="class, hierarchical: a Brown paths file or a model of spinney classes."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="n-grams: count within so many bytes, such as 2G, the rest on disk.")
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(help="The words of another language model, or of a file with one a line; no others."),
    ] = None,
    words: Annotated[
        str, typer.Option(help="What a word is: form, lemma, lemma+upos, form+upos; in column files 0, 0+1.")
    ] = "form",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Take The for the.")] = False,
    min_count: Annotated[int, typer.Option(min=1, help="Words seen fewer times become --unknown.")] = 1,
    max_words: Annotated[
        int | None, typer.Option(min=2, help="Keep the most frequent words only, so many with --unknown.")
    ] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Longer sentences are cut.")] = None,
    unknown: Annotated[
        str | None,
        typer.Option(help="The word that stands for all others (default: <unk>).", show_default=False),
    ] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="No unknown word: what was not seen has no probability.")
    ] = False,
    parser: Parser = None,
    cache: Annotated[
        str | None, typer.Option(help="A folder to keep the numbered text in, for the next run.")
    ] = None,
    format: Format = "auto",
    text: TextColumn = None,
    header: Header = True,
    encoding: Encoding = "utf-8",
    on_error: OnError = "raise",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Learn a language model from text, one sentence a line, and write it to --model."""
    begin(quiet)
    check_target(model)
    given = {
        "discount": discount, "add": add, "sweeps": sweeps, "penalty": penalty, "lam": lam, "alpha": alpha,
        "solver": solver, "tol": tol, "max_iter": max_iter, "collapse": collapse, "tree": tree, "classes": classes,
        "memory": memory,
    }  # fmt: skip
    _check(method, given, dev)
    _check_words(vocabulary, closed, unknown, min_count, max_words)
    from spinney.corpus import ReadReport
    from spinney.report.lm import show_model, show_tuning

    n = _order(order, method)
    source = Source(train, format, encoding, on_error, text, header)
    symbol = None if closed else unknown or "<unk>"
    known = None if vocabulary is None else _vocabulary(vocabulary, symbol)
    symbol = symbol if known is None else known.unknown
    reading = Reading(words, lowercase, symbol, max_length=max_length, parser=parser)
    reading.check_parser()
    report = ReadReport()
    read_with = None if known is None else with_marks(known)
    with about(source.name), numbered(source, reading, report, cache, read_with) as arrays:
        part = training_text(arrays, source, reading, report, known, min_count, max_words)
        held_out = None
        if dev is not None:
            of_dev = replace(source, files=[dev])
            held_out = held_out_text(of_dev, reading, ReadReport(), reading_vocabulary(part.vocabulary))
        started = time.perf_counter()
        fitted, tried = _Training(method, n, given, held_out, seed).run(part)
        seconds = time.perf_counter() - started
        _note(fitted, method, n, part, reading, report, seconds)
        if held_out is not None:
            with about(str(dev)):
                fitted.facts["dev_perplexity"] = fitted.perplexity(held_out).perplexity
        if tried:
            fitted.facts["tuning"] = tried
        fitted.save(model)

    def show() -> None:
        show_model(f"Wrote {model}", fitted)
        show_tuning(tried)

    emit(as_json, {"path": model, **fitted.facts}, show)
    return 130 if fitted.facts.get("interrupted") else 0


# ------------------------------------------------------------------------------------------- options


def _check(method: str, given: dict[str, Any], dev: str | None) -> None:
    """Refuse options that are not for this method, rather than pass over them."""
    if method not in _METHODS:
        raise unknown_choice("--method is one of", method, _METHODS)
    for name, value in given.items():
        if value is not None and method not in _TAKEN_BY[name]:
            raise OptionError(f"--{name.replace('_', '-')} is not for --method {method}")
    for name in ("lam", "alpha"):
        if given[name] is not None and len(_numbers(name, given[name])) > 1 and dev is None:
            raise OptionError(f"--{name} {given[name]}: which is best is found on held-out text; give --dev")
    if given["penalty"] == "none" and given["lam"] is not None:
        raise OptionError("--penalty none has no --lam")
    if given["solver"] not in (None, *_SOLVERS):
        raise unknown_choice("--solver is one of", given["solver"], _SOLVERS)
    if method == "class" and given["classes"] is None:
        raise OptionError("--method class needs --classes: a Brown paths file or a model of spinney classes")
    if given["tree"] == "classes" and given["classes"] is None:
        raise OptionError("--tree classes needs --classes: a Brown paths file or a model of spinney classes")
    if given["classes"] is not None and given["tree"] not in (None, "classes"):
        raise OptionError(f"--classes and --tree {given['tree']} both say what the tree is: give one")


def _check_words(
    vocabulary: str | None, closed: bool, unknown: str | None, min_count: int, max_words: int | None
) -> None:
    """Refuse options that say two things about which words there are."""
    if closed and (min_count > 1 or max_words is not None):
        raise OptionError("--closed keeps every word: --min-count and --max-words need an unknown one")
    if vocabulary is not None and (min_count > 1 or max_words is not None):
        raise OptionError(
            "--vocabulary says which words there are: --min-count and --max-words have no part in it"
        )
    if closed and unknown is not None:
        raise OptionError("--closed has no unknown word: leave out --unknown")
    if vocabulary is not None and is_model(vocabulary) and (closed or unknown is not None):
        raise OptionError(
            "--vocabulary MODEL says what stands for unknown words: leave out --unknown and --closed"
        )
    if unknown is not None and (unknown in ("<s>", "</s>") or not unknown or unknown.split() != [unknown]):
        raise OptionError(f"--unknown is a word of its own, not {unknown!r}")


def _order(text: str | None, method: str) -> int | None:
    """The order, or None if it has no bound."""
    if text is None:
        return None if method == "memoizer" else 5
    if text == "unbounded":
        if method not in _UNBOUNDED:
            raise OptionError(f"--order unbounded is for --method {', '.join(_UNBOUNDED)}, not {method}")
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**6):
        raise OptionError(f"--order is a number from 1 or unbounded, not {text!r}")
    return int(text)


def _numbers(name: str, text: str) -> list[float]:
    """Numbers parted by commas."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= number < float("inf") for number in found):
        raise OptionError(f"--{name} is a number, or several parted by commas, not {text!r}")
    return found


def _bytes(text: str) -> int:
    number, unit = text.strip().upper().removesuffix("B"), ""
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    try:
        found = int(float(number) * _UNITS[unit])
        if found < 1:
            raise ValueError
        return found
    except (ValueError, OverflowError):
        raise OptionError(f"--memory is a number of bytes such as 500M or 2G, not {text!r}") from None


def _vocabulary(file: str, unknown: str | None) -> Vocabulary:
    """The words of a language model, or those of a file with one a line."""
    import numpy as np

    from spinney.corpus import Vocabulary, read_lines

    if is_model(file):
        from spinney.lm.model import load_language_model

        return load_language_model(file).vocabulary
    found: dict[str, None] = dict.fromkeys([unknown] if unknown else [])
    for number, line in read_lines(file):
        word = line.strip()
        if not word:
            continue
        if any(space in word for space in " \t"):
            raise InputError("more than one word", path=file, line=number, remedy="write one word a line")
        found[word] = None
    return Vocabulary(tuple(found), np.zeros(len(found), np.int64), unknown)


# ------------------------------------------------------------------------------------------ learning


@dataclass(frozen=True)
class _Training:
    """A method with its options."""

    method: str
    order: int | None
    given: dict[str, Any]
    held_out: TokenArrays | None
    seed: int

    def run(self, text: TokenArrays) -> tuple[LanguageModel, list[dict[str, float]]]:
        """The model, and the points that were tried on held-out text."""
        if self.method in _LOGLINEAR:
            return self._loglinear(text)
        others: dict[str, Callable[[TokenArrays], LanguageModel]] = {
            "pitman-yor": self._pitman_yor,
            "memoizer": self._memoizer,
            "class": self._class,
        }
        return others.get(self.method, self._ngram)(text), []

    def _ngram(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.smoothing import METHODS, fit_ngram

        name, options = _NGRAM[self.method]
        options = dict(options)
        if self.given["discount"] is not None:
            options["discount"] = self.given["discount"]
        if self.given["add"] is not None:
            options["d"] = self.given["add"]
        if self.method == "jm" and self.held_out is not None:
            options["heldout"] = self._held_out_of(text)
        assert self.order is not None
        if self.given["memory"] is None:
            return fit_ngram(text, name, order=self.order, **options)
        from spinney.lm.external import external_trie

        memory = _bytes(self.given["memory"])
        trie = external_trie(text, len(text.vocabulary), self.order - 1, memory=memory)
        return METHODS[name](trie, text.vocabulary, **options)

    def _held_out_of(self, text: TokenArrays) -> TokenArrays:
        """Held-out text in the very vocabulary of the model; a closed one has no place for new words."""
        import numpy as np

        held_out = self.held_out
        assert held_out is not None
        if np.any(held_out.ids >= len(text.vocabulary)):
            raise OptionError("--method jm --closed: --dev has words that the training text has not")
        return replace(held_out, vocabulary=text.vocabulary)

    def _pitman_yor(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.pitman_yor import pitman_yor

        assert self.order is not None
        return pitman_yor(text, self.order, random_state=self.seed, **self._sampling())

    def _memoizer(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.memoizer import sequence_memoizer

        longest = None if self.order is None else self.order - 1
        return sequence_memoizer(text, max_context=longest, random_state=self.seed, **self._sampling())

    def _sampling(self) -> dict[str, Any]:
        sweeps = self.given["sweeps"]
        if sweeps is None:
            return {}
        return {"sweeps": sweeps} if sweeps else {"method": "one-table"}

    def _class(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.classbased import fit_class_model

        assert self.order is not None
        return fit_class_model(text, word_classes(self.given["classes"]), order=self.order)

    def _loglinear(self, text: TokenArrays) -> tuple[LanguageModel, list[dict[str, float]]]:
        from spinney.lm.loglinear import fit_loglinear, fit_loglinear_path

        unbounded = self.order is None
        names = ("solver", "tol", "max_iter", "collapse")
        how: dict[str, Any] = {name: self.given[name] for name in names if self.given[name] is not None}
        if how.get("solver", "words") != "words":
            how.setdefault("collapse", False)  # the general solvers know no shared weights
        how["penalty"] = self.given["penalty"] or ("tree-linf" if unbounded else "tree-l2")
        lams = _numbers("lam", self.given["lam"] or "0.7")
        alphas = _numbers("alpha", self.given["alpha"] or ("1" if unbounded else "1.1"))
        several = len(lams) > 1 or len(alphas) > 1
        if self.method == "hierarchical":
            return self._hierarchical(text, lams, alphas, how)
        if several and self.held_out is not None:
            return fit_loglinear_path(text, self.held_out, self.order, lams=lams, alphas=alphas, **how)
        return fit_loglinear(text, self.order, lam=lams[0], alpha=alphas[0], **how), []

    def _hierarchical(
        self, text: TokenArrays, lams: list[float], alphas: list[float], how: dict[str, Any]
    ) -> tuple[LanguageModel, list[dict[str, float]]]:
        from spinney.lm.hierarchical import HierarchicalModel, fit_hierarchical

        tree = self._tree(text)
        points = [(lam, alpha) for alpha in alphas for lam in sorted(lams, reverse=True)]
        best: HierarchicalModel | None = None
        tried: list[dict[str, float]] = []
        for lam, alpha in points:
            model = fit_hierarchical(text, self.order, tree=tree, lam=lam, alpha=alpha, **how)
            if len(points) == 1 or self.held_out is None:
                return model, []
            perplexity = model.perplexity(self.held_out).perplexity
            if best is None or perplexity < min(row["perplexity"] for row in tried):
                best = model
            seconds = model.facts["seconds"]
            tried.append(
                {"lam": lam, "alpha": alpha, "perplexity": perplexity, "parameters": model.n_parameters,
                 "seconds": seconds}
            )  # fmt: skip
            if model.facts["interrupted"]:
                best.facts["interrupted"] = True
                break
        assert best is not None
        return best, tried

    def _tree(self, text: TokenArrays) -> ClassTree | None:
        from spinney.lm.wordtree import tree_of_classes

        if self.given["classes"] is not None:
            return tree_of_classes(word_classes(self.given["classes"]), text.vocabulary, len(text))
        if self.given["tree"] in (None, "huffman"):
            return None
        if self.given["tree"] == "taxonomy":
            from spinney.taxonomy import text_taxonomy

            return text_taxonomy(text, random_state=self.seed)
        from spinney.lm.stream import END
        from spinney.lm.wordtree import outcome_counts

        outcomes = [*text.vocabulary.words, END]
        return class_tree(self.given["tree"], outcomes, outcome_counts(text.vocabulary, len(text)))


def _note(
    model: LanguageModel,
    method: str,
    order: int | None,
    text: TokenArrays,
    reading: Reading,
    report: ReadReport,
    seconds: float,
) -> None:
    """Keep with the model what was read, and how it went."""
    from spinney.report.lm_views import n_parameters, order_sizes

    parameters, active = n_parameters(model)
    model.facts |= {
        "method": method,
        "order": "unbounded" if order is None else order,
        "sentences": len(text),
        "tokens": text.n_tokens,
        "words": len(text.vocabulary),
        "grams": [size.grams for size in order_sizes(model)],
        "parameters": parameters,
        "active": active,
        "seconds": seconds,
        "tokens_per_second": text.n_tokens / max(seconds, 1e-9),
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
        "long": report.long,
        "reading": reading.facts(),
    }
