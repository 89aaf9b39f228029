"""Texts, models and scores of Grave (2014) at the thesis's sizes: each is a piece, made once and kept in the cache.

    python replication/grave_full_models.py CACHE PIECE [--quick] [--seed S] [--device cuda]

A piece is ``text NAME``, ``trees conll``, ``brown NAME STRUCTURE N``, or, with a start more, ``fit``, ``words``,
``senses`` and ``names``; ``grave_full.py`` runs them all, several at a time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from grave_categorisation import category_sets
from grave_common import STRUCTURES, Structure
from grave_composition import SETS
from grave_models import known_as
from grave_ner import Split, heads_of, read_names, represented, words
from grave_ner import scored as scored_names
from grave_semcor import data_folder, placed_examples
from grave_similarity import PUBLISHED as MEASURES
from grave_supersense import FOLDINGS, KINDS, model_blocks, read_examples, scored

from spinney.classes import Clustering, HiddenMarkov, brown, pair_counts
from spinney.corpus import TokenArrays, Vocabulary, read_text
from spinney.evaluate import (
    bless_boxes,
    bless_precision_recall,
    categorise,
    composition_correlation,
    cross_pos,
    lookup,
    read_bless,
    read_composition,
    read_word_pairs,
    word_similarity,
)
from spinney.evaluate.composition import Operator
from spinney.files import replacing

Text = Literal["parsed", "forms", "reviews"]
Start = Literal["Brown", "uniform"]
#: Files of people's judgements (Spearman's coefficient), under names that people know.
JUDGED = {"RG-65": "RG-65", "WS-353": "WS-353-ALL", "MEN": "MEN-TR-3k", "SimVerb": "SimVerb-3500"}
SPLIT = {"similar": "WS-353-SIM", "related": "WS-353-REL"}
#: Of so many sentences one is held out.
_EVERY = 50
_LONGEST, _MOST = 50, 100_000
#: Parts of CoNLL-2003: to learn from, and to test with.
_NAMES = ("train", "testb")


class Model(NamedTuple):
    """A hidden Markov model: the text it was learned from, its structure, its classes and how it began."""

    text: Text
    structure: Structure
    n_classes: int
    start: Start

    def __str__(self) -> str:
        return f"{self.text}-{self.structure}-{self.n_classes}-{self.start}"


@dataclass(frozen=True)
class Full:
    """How large a run is, its seed, its data, where pieces are kept, and what passes messages."""

    quick: bool
    seed: int
    data: Path
    cache: Path
    device: str = "auto"
    more: int | None = None  # passes, where they are to be others

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of classes of the models of the parsed text: those of figures 4.1 and 4.2."""
        return (8, 16) if self.quick else (128, 256, 512, 1024)

    @property
    def passes(self) -> int:
        """Passes of online EM over the text; one of batch EM follows."""
        return self.more or (2 if self.quick else 10)

    def batch_tokens(self, text: Text) -> int:
        """Tokens of a step of online EM: enough to keep a card busy."""
        return 8_192 if self.quick else 32_768 if text == "parsed" else 65_536

    @property
    def models(self) -> list[Model]:
        """All models, the largest first: trees and chains of the parsed text, chains of the reviews."""
        starts = get_args(Start)
        sizes = sorted(self.sizes, reverse=True)
        found = [Model("parsed", s, n, start) for n in sizes for s in STRUCTURES for start in starts]
        found += [Model("forms", "tree", n, start) for n in sizes for start in starts]
        found.append(Model("forms", "chain", sizes[1], "Brown"))  # Table 4.2
        if not self.quick:
            found += [Model("reviews", "chain", n, start) for n in sizes[:2] for start in starts]
        return found

    def file(self, kind: str, name: object) -> Path:
        """Where a piece is kept. Texts and Brown clusters are the same for all seeds."""
        told = ""
        if kind not in ("text", "trees", "brown"):
            told += f"-passes{self.more}" if self.more else ""
            told += f"-seed{self.seed}" if self.seed else ""
        ending = {"brown": ".spinney", "hmm": ".spinney", "trees": ".npz"}.get(kind, ".json")
        return self.cache / f"{kind}-{name}{told}{ending}"


# ---------------------------------------------------------------------------------------- texts and models


def make_text(full: Full, name: Text) -> None:
    """Read a text; of 50 sentences one is held out, and words are those that the others have at least twice."""
    began = time.perf_counter()
    if name != "reviews":
        files = ["brown"] if full.quick else ["reuters", "brown", "imdb"]
        paths = [full.data / "parsed" / f"{file}.conllu.xz" for file in files]
        what = "lemma+upos" if name == "parsed" else "form"
        every = read_text(paths, words=what, tree=True, max_length=_LONGEST)
    else:
        paths = [full.data / "imdb" / f"{part}.tsv.xz" for part in ("train", "test", "unsup")]
        every = read_text(paths, "tsv", text=3, header=False, lowercase=True, max_length=_LONGEST)
    held_out = np.arange(len(every)) % _EVERY == _EVERY - 1
    parts = {"train": every.take(np.flatnonzero(~held_out)), "dev": every.take(np.flatnonzero(held_out))}
    counts = np.bincount(parts["train"].ids, minlength=len(every.vocabulary)).tolist()
    counted = {word: n for word, n in zip(every.vocabulary.words, counts) if n}
    vocabulary = Vocabulary.from_counts(counted, min_count=2, max_size=_MOST, unknown="<unk>")
    for part, arrays in parts.items():
        known_as(arrays, vocabulary).save(full.cache / f"text-{name}-{part}")
    train, dev = parts.values()
    unknown = float(np.mean(vocabulary.encode(every.vocabulary.words)[train.ids] == 0))
    facts = {"sentences": len(train), "tokens": train.n_tokens, "words": len(vocabulary), "unknown": unknown}
    _keep(
        full.cache / f"text-{name}.json",
        facts | {"dev": dev.n_tokens, "seconds": time.perf_counter() - began},
    )


def text(full: Full, name: Text, part: Literal["train", "dev"]) -> TokenArrays:
    """A part of a text that was read before."""
    return TokenArrays.load(full.cache / f"text-{name}-{part}", mmap=False)


def make_brown(full: Full, name: Text, structure: Structure, n_classes: int) -> None:
    """Brown clusters of a text, by the pairs of a structure."""
    arrays = text(full, name, "train")
    pairs = pair_counts(arrays, tree=structure == "tree")
    brown(pairs, arrays.vocabulary, n_classes).save(full.file("brown", f"{name}-{structure}-{n_classes}"))


def clusters(full: Full, model: Model) -> Clustering:
    """The Brown clusters of a model's text, with its structure and number of classes."""
    return Clustering.load(full.file("brown", f"{model.text}-{model.structure}-{model.n_classes}"))


def fit(full: Full, model: Model) -> None:
    """Learn a model, and keep what was found on the way: the likelihoods of the text and of held-out sentences."""
    how: dict[str, Any] = {"device": full.device, "batch_tokens": full.batch_tokens(model.text)}
    fitted = HiddenMarkov(
        model.n_classes, model.structure, passes=full.passes, threads=2, random_state=full.seed, **how
    )
    init = "uniform" if model.start == "uniform" else clusters(full, model).classes
    fitted.fit(text(full, model.text, "train"), dev=text(full, model.text, "dev"), init=init)
    fitted.save(full.file("hmm", model))
    _keep(full.file("fit", model), {k: v for k, v in fitted.facts.items() if k != "reading"})


# ---------------------------------------------------------------------------------------------- scores


def score_words(full: Full, model: Model) -> None:
    """Chapter 3, as far as the data are at hand: similarity, BLESS, categories, composition."""
    fitted = HiddenMarkov.load(full.file("hmm", model))
    vectors, T = fitted.word_vectors(), fitted.shared_transition_
    folder = full.data / "word_similarity"
    pairs = {
        name: read_word_pairs(folder / "mfaruqui" / f"EN-{file}.txt")
        for name, file in (JUDGED | SPLIT).items()
    }
    measured = {
        measure: word_similarity(vectors, pairs["WS-353"], measure)["pearson"] for measure in MEASURES
    }
    found: dict[str, Any] = {
        "measures": measured | {name: word_similarity(vectors, pairs[name])["pearson"] for name in SPLIT},
        "judged": {
            name: _of(word_similarity(vectors, pairs[name]), "spearman", "n", "pairs") for name in JUDGED
        },
        "categories": {},
        "bless": {},
        "composition": {},
    }
    for name, (members, pos) in category_sets(folder / "vecto" / "word-categorization").items():
        members_, gold = zip(*members)
        result = categorise(vectors, members_, gold, find=lookup(vectors, pos))
        found["categories"][name] = {"purity": result.purity, "entropy": result.entropy}
        found["categories"][name] |= {"n": len(result.words), "items": len(members)}
    related = read_bless(folder / "vecto" / "semantic-relation" / "bless.csv.xz")
    for name, moves in (("plain", None), ("T", cross_pos(T, model.structure))):
        boxes = bless_boxes(vectors, related, transform=moves)
        medians = {relation: quartiles[2] for relation, quartiles in boxes["quartiles"].items()}
        precision = bless_precision_recall(vectors, related, transform=moves)["average_precision"]
        found["bless"][name] = {"medians": medians, "average_precision": precision}
        found["bless"][name] |= _of(boxes, "concepts", "coverage", "pairs")
    for name, second in SETS.items():
        clauses = read_composition(full.data / "composition" / f"{name}.txt.xz")
        found["composition"][name] = {
            operator: _of(
                composition_correlation(vectors, clauses, T, operator, model.structure, second=second),
                "pearson",
                "n",
                "items",
            )
            for operator in get_args(Operator)
        }
    # Figure 2.4: how many classes have 90 % of a column of T, and the mean of its diagonal.
    falling = np.cumsum(np.sort(T, axis=0)[::-1], axis=0)
    found["transitions"] = {
        "classes": float(np.mean((falling < 0.9).sum(axis=0) + 1)),
        "diagonal": float(np.mean(np.diag(T))),
    }
    _keep(full.file("words", model), found)


def score_senses(full: Full, model: Model) -> None:
    """Figure 4.2: supersenses of SemCor by Posterior-Both, and by the Brown clusters that a model began with."""
    examples = read_examples(full.data, 0, placed_examples(full.data))
    fitted = HiddenMarkov.load(full.file("hmm", model))
    blocks = model_blocks(fitted, clusters(full, model).classes, examples, viterbi=False)
    names = ["Posterior-Both", *(["Brown"] if model.start == "Brown" else [])]
    found = {
        f"{name}, {KINDS[lexical]}, {folding}": scored(examples, blocks, name, lexical, folding)._asdict()
        for name in names
        for folding in FOLDINGS
        for lexical in KINDS
    }
    _keep(full.file("senses", model), found | {"n": len(examples.labels)})


def make_trees(full: Full, name: str) -> None:
    """The heads of the sentences of CoNLL-2003, by spaCy, which the machine with the card need not have."""
    heads = {part: heads_of(words(read_names(full.data, part))) for part in _NAMES}
    if any(one is None for one in heads.values()):
        raise SystemExit("trees need spaCy and en_core_web_sm")
    with replacing(full.file("trees", name)) as file:
        np.savez_compressed(file, **heads)


def score_names(full: Full, model: Model) -> None:
    """Figure 4.1: names in CoNLL-2003 by Posterior-Both, and by the Brown clusters that a model began with."""
    fitted, classes = HiddenMarkov.load(full.file("hmm", model)), clusters(full, model).classes
    with np.load(full.file("trees", "conll")) as heads:
        limit = 1000 if full.quick else None
        parts = [read_names(full.data, part, limit) for part in _NAMES]
        sizes = [sum(map(len, part)) for part in parts]
        known = [
            heads[part][:size] if model.structure == "tree" else None for part, size in zip(_NAMES, sizes)
        ]
    split = Split(*(represented(fitted, classes, *one, viterbi=False) for one in zip(parts, known)))
    names = ["Posterior-Both", *(["Brown"] if model.start == "Brown" else [])]
    found = {
        f"{name}, {KINDS[lexical]}": scored_names(split, name, lexical)._asdict()
        for name in names
        for lexical in KINDS
    }
    _keep(full.file("names", model), found | {"sentences": [len(part) for part in parts]})


def _of(found: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names}


def _keep(file: Path, facts: Mapping[str, Any]) -> None:
    with replacing(file) as out:
        out.write(json.dumps(facts).encode())


MAKERS: dict[str, Callable[[Full, Model], None]] = {"fit": fit, "words": score_words}
MAKERS |= {"senses": score_senses, "names": score_names}


def main() -> None:
    """Make one piece."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("piece", nargs="+")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--passes", type=int)
    given = parser.parse_args()
    full = Full(given.quick, given.seed, data_folder(), given.cache, given.device, given.passes)
    kind, name, *rest = given.piece
    if kind == "text":
        make_text(full, name)
    elif kind == "trees":
        make_trees(full, name)
    elif kind == "brown":
        make_brown(full, name, rest[0], int(rest[1]))
    else:
        MAKERS[kind](full, Model(name, rest[0], int(rest[1]), rest[2]))


if __name__ == "__main__":
    main()
