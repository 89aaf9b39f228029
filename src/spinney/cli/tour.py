"""The scenes of ``spinney demo``: each fits models, saves one in a folder, and returns views of what it learned."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spinney.views import Extra, Facts, Note, Table, View

if TYPE_CHECKING:
    from spinney.classify import TextModel
    from spinney.corpus import TokenArrays


class Tour:
    """A tour of Python's own manual and library; ``folder`` takes the models."""

    def __init__(self, folder: str, seed: int) -> None:
        from spinney.corpus import sample_documents

        self.folder, self.seed = folder, seed
        self.documents = sample_documents()
        paragraphs = [
            (paragraph, str(document.label))
            for document in self.documents
            for paragraph in document.text.split("\n\n")
            if len(paragraph.split()) >= 15
        ]
        # Every fifth paragraph is held out, so that training keeps the neighbours of each of them.
        self.test = paragraphs[4::5]
        self.train = [one for i, one in enumerate(paragraphs) if i % 5 != 4]
        self.texts, self.labels = map(list, zip(*self.train))

    def place(self, name: str) -> str:
        """The path of a file of the tour."""
        return os.path.join(self.folder, name)

    def scored(self, model: TextModel) -> dict[str, Any]:
        """The size of a classifier of paragraphs, and its accuracy."""
        predicted = model.predict([text for text, _ in self.test])
        right = sum(label == found for (_, label), found in zip(self.test, predicted))
        facts = {name: model.facts[name] for name in ("active", "parameters", "gap")}
        return {"accuracy": right / len(self.test), **facts}

    def statements(self) -> list[str]:
        """Labels of the training paragraphs: whether they are about statements."""
        return [label if label == "statements" else "other" for label in self.labels]

    def words(self, min_count: int) -> TokenArrays:
        """The manual in lower case, without punctuation."""
        from spinney.corpus import sample_sentences, sentence_arrays

        sentences = ([word.lower() for word in words if word[0].isalpha()] for words in sample_sentences())
        return sentence_arrays(filter(None, sentences), min_count=min_count, unknown="<unk>")


def corpus(tour: Tour) -> list[View]:
    """The manual."""
    texts, themes = [text for text, _ in (*tour.train, *tour.test)], sorted(set(tour.labels))
    words = sum(len(text.split()) for text in texts)
    return [
        _facts(documents=len(tour.documents), paragraphs=len(texts), words=words),
        Note(
            f"Python's own manual: {len(tour.documents)} topics, {len(texts):,} paragraphs, {words:,} words, in "
            f"{len(themes)} themes: {', '.join(themes)}."
        ),
    ]


def classifier(tour: Tour) -> list[View]:
    """A Lasso with λ chosen by cross-validation."""
    from spinney.classify import LinearClassifierCV, TextFeatures, TextModel
    from spinney.corpus import writing

    model = TextModel(LinearClassifierCV("l1", cv=3), TextFeatures(min_count=2))
    model.fit(tour.texts, tour.labels).save(tour.place("classifier.spinney"))
    with writing(tour.place("held-out.csv")) as file:
        csv.writer(file, lineterminator="\n").writerows([("text", "label"), *tour.test])
    facts = tour.scored(model)
    truth = [label for _, label in tour.test]
    commonest = max(map(truth.count, truth)) / len(truth)
    strongest = {label: ", ".join(word for word, _ in words) for label, words in model.strongest(7).items()}
    return [
        _facts(**facts),
        Note(
            f"The Lasso keeps {facts['active']:,} of {facts['parameters']:,} weights (λ chosen by cross-validation) "
            f"and is right on {facts['accuracy']:.0%} of held-out paragraphs; always guessing the commonest theme "
            f"gives {commonest:.0%}. Certificate: the objective is proven to be within "
            f"{facts['gap']:.0e} of its optimum."
        ),
        Table("strongest", "", ["theme", "strongest words"], list(strongest.items())),
    ]


def word_families(tour: Tour) -> list[View]:
    """A group Lasso over families of words."""
    from spinney.classify import LinearClassifier, TextFeatures, TextModel, group_status
    from spinney.structure import Groups

    features = TextFeatures(min_count=2)
    X = features.fit_transform(tour.texts)
    families = sorted({name[:5] for name in features.names})
    place = {family: g for g, family in enumerate(families)}
    groups = Groups.from_labels([place[name[:5]] for name in features.names], names=families)
    model = TextModel(LinearClassifier("group", lam_ratio=0.1, groups=groups, tol=1e-4), features)
    model.fit_matrix(X, tour.labels)
    status = group_status(model.coef, groups, model.names, model.outputs, top=len(groups))
    kept = [view.name for view in status.selected]
    facts = tour.scored(model)
    shown = [family for family in kept if len(groups[place[family]]) > 2][:5]
    rows = [[f"{family}-", ", ".join(features.names[j] for j in groups[place[family]])] for family in shown]
    return [
        _facts(**facts, families=len(groups), kept=len(kept)),
        Note(
            f"A group Lasso over {len(groups):,} families (words with the same first five letters) keeps "
            f"{len(kept)} of them; {facts['accuracy']:.0%} of held-out paragraphs are right."
        ),
        Table("", "", ["family", "words"], rows),
    ]


def phrases(tour: Tour) -> list[View]:
    """A tree norm over words and pairs."""
    import numpy as np

    from spinney.classify import LinearClassifier, TextFeatures, TextModel
    from spinney.optim import TreeL2

    features = TextFeatures(min_count=3, ngrams=2)
    X = features.fit_transform(tour.texts)
    place = {name: j for j, name in enumerate(features.names)}
    parent = np.array([place[name.split()[0]] if " " in name else -1 for name in features.names])
    model = TextModel(LinearClassifier(TreeL2(1.0, parent), lam_ratio=0.05, tol=1e-4), features)
    weights = model.fit_matrix(X, tour.statements()).coef[0]
    active = np.flatnonzero(weights)
    pairs = [j for j in active if parent[j] >= 0]
    orphans = int(sum(weights[parent[j]] == 0 for j in pairs))
    strongest = sorted(pairs, key=lambda j: -abs(weights[j]))[:6]
    rows = [[features.names[parent[j]], features.names[j], f"{weights[j]:+.2f}"] for j in strongest]
    return [
        _facts(active=len(active), pairs=len(pairs), orphans=orphans),
        Note(
            f"{len(active)} of {len(weights):,} words and pairs are active. {len(pairs)} of them are pairs, and "
            f"{orphans} of these lack their first word. Weights for the theme statements:"
        ),
        Table("", "", ["first word", "pair", "weight"], rows),
    ]


def solvers(tour: Tour) -> list[View]:
    """Three solvers on one problem."""
    from spinney.classify import TextFeatures
    from spinney.optim import L1, LogisticLoss, lambda_max, solve

    texts, labels = zip(*tour.train, *tour.test)
    X = TextFeatures(min_count=2).fit_transform(texts)
    loss = LogisticLoss(X, [1.0 if label == "objects" else -1.0 for label in labels])
    penalty = L1(0.05 * lambda_max(loss, L1(1.0)))
    rows = []
    for name in ("cd", "owlqn", "fista"):
        found = solve(loss, penalty, name, tol=1e-4)
        active = int((found.w[:-1] != 0).sum())
        rows.append([name, found.n_iter, found.seconds, found.objective, found.violation, active])
    header = ["solver", "iterations", "seconds", "objective", "violation", "active"]
    return [Table("solvers", "", header, rows)]


def tagger(tour: Tour) -> list[View]:
    """A conditional random field on letters."""
    from spinney.corpus import sample_sentences
    from spinney.tagging import Tagger

    sentences = [[word.lower() for word in words if word.isalpha()] for words in sample_sentences()]
    sentences = [words for words in sentences if len(words) >= 5]
    letters = [[letter for word in words for letter in word] for words in sentences]
    labels = [["I" if i else "B" for word in words for i in range(len(word))] for words in sentences]
    spans = [(-1, 0), (-2, 0), (-3, 0), (-4, 0), (-1, 1), (-2, 1), (-3, 1), (-1, 2), (-2, 2), (-1, 3)]
    spans += [(0, 1), (0, 2), (0, 3), (0, 4), (-5, -1), (-4, -1), (-3, -1)]
    windows = [f"U{a}..{b}:" + "".join(f"%x[{o},0]" for o in range(a, b + 1)) for a, b in spans]
    train = [i for i in range(len(sentences)) if i % 5 != 4][:1200]
    test = range(4, len(sentences), 5)[:300]
    model = Tagger("\n".join([*windows, "B"]), penalty="elasticnet", lam=1.0, l2=0.1, tol=1e-2)
    model.fit([letters[i] for i in train], [labels[i] for i in train])
    model.save(tour.place("letters.spinney"))
    accuracy = model.score([letters[i] for i in test], [labels[i] for i in test])
    active, parameters = model.facts["active"], model.facts["parameters"]
    example = letters[test[3]]
    found = model.predict([example])[0]
    spaced = "".join(" " * (label == "B") + letter for letter, label in zip(example, found)).strip()
    strongest = model.strongest(6)
    seen = {label: ", ".join(name.partition(":")[2] for name, _ in strongest[label]) for label in ("B", "I")}
    return [
        _facts(accuracy=accuracy, active=active, parameters=parameters),
        Note(
            f"A conditional random field learns from the letters of {len(train):,} sentences. The elastic net keeps "
            f"{active:,} of {parameters:,} weights, and {accuracy:.1%} of held-out letters are labelled correctly:"
        ),
        Table(
            "",
            "",
            ["", ""],
            [
                ["letters", "".join(example)],
                ["words", spaced],
                ["signs of a beginning", seen["B"]],
                ["signs against it", seen["I"]],
            ],
        ),
    ]


def word_classes(tour: Tour) -> list[View]:
    """Brown clusters, then a hidden Markov model."""
    from math import exp

    from spinney.classes import fit
    from spinney.classes.views import class_views, frequent

    arrays = tour.words(min_count=3)
    model: Any = fit(arrays, method="hmm", classes=40, refine=5, lowercase=True, seed=tour.seed)
    model.save(tour.place("classes.spinney"))
    likelihood = model.facts["log_likelihood"]
    classes = model.word_classes()
    shown = [classes[word] for word in ("must", "called", "values", "returns", "x") if word in classes]
    rows = [[view.number, view.named(9)] for view in class_views(model, list(dict.fromkeys(shown)), 9)]
    vectors = frequent(model, model.word_vectors(), 10, "returns")
    near = [word for word, _ in vectors.neighbours("returns", 5, "hellinger")]
    return [
        _facts(words=len(arrays.vocabulary), classes=40, log_likelihood=likelihood),
        Note(
            f"Brown clusters of {len(arrays.vocabulary):,} words initialise a hidden Markov model of 40 classes "
            f"(perplexity {exp(-likelihood):.0f}). Some of its classes:"
        ),
        Table("", "", ["class", "words"], rows),
        Extra("neighbours", "", near),
        Note(f"Words used like “returns”: {', '.join(near)}."),
    ]


def word_vectors(tour: Tour) -> list[View]:
    """Eigenwords."""
    from spinney.embed import fit

    arrays = tour.words(min_count=5)
    model: Any = fit(arrays, method="cca", dimensions=50, lowercase=True, seed=tour.seed)
    model.save(tour.place("vectors.spinney"))
    vectors, pairs = model.word_vectors(), model.facts["pairs"]
    near = {word: [other for other, _ in vectors.neighbours(word, 6)] for word in ("list", "exception")}
    return [
        _facts(words=len(arrays.vocabulary), pairs=pairs),
        Note(
            f"Canonical correlation analysis of {len(arrays.vocabulary):,} words and the five words on either side "
            f"({pairs:,} pairs) gives each word a vector of 50 numbers."
        ),
        Extra("neighbours", "", near),
        Table("", "", ["word", "neighbours"], [[word, ", ".join(others)] for word, others in near.items()]),
    ]


def structure_at_work(tour: Tour) -> list[View]:
    """Classes learned from unlabelled code as features of a tagger."""
    from spinney.classes import brown, pair_counts
    from spinney.corpus import sentence_arrays
    from spinney.corpus.code_trees import sample_trees
    from spinney.corpus.sample_files import UNLABELLED, code_sentences, word_roles
    from spinney.tagging import Tagger

    statements = [rows for tree in sample_trees() if len(rows := word_roles(tree)) > 1]
    words = [[word for word, _ in rows] for rows in statements]
    roles = [[role for _, role in rows] for rows in statements]
    code = sentence_arrays(tokens for name in UNLABELLED for tokens in code_sentences(name))
    clusters = brown(pair_counts(code), code.vocabulary, 100)
    test = slice(4, None, 5)
    train = [i for i in range(len(statements)) if i % 5 != 4][:200]
    accuracy = {}
    for name, classes in (("alone", {}), ("with classes", {"brown": clusters.classes})):
        model = Tagger("pos", classes=classes, tol=1e-2)
        model.fit([words[i] for i in train], [roles[i] for i in train])
        accuracy[name] = model.score(words[test], roles[test])
    model.save(tour.place("roles.spinney"))
    example = words[test][7]
    labelled = " ".join(f"{word}/{role}" for word, role in zip(example, model.predict([example])[0]))
    return [
        _facts(tokens=code.n_tokens, accuracy=accuracy),
        Note(
            "Is a word of a Python statement without its punctuation a variable, a method or an option? Trained on "
            f"{len(train)} labelled statements, a tagger gets {accuracy['alone']:.1%} of the words of other statements "
            f"right. With 100 Brown classes, learned from {code.n_tokens:,} tokens of unlabelled source code, it gets "
            f"{accuracy['with classes']:.1%}."
        ),
        Note(labelled),
    ]


def sentences(tour: Tour) -> list[View]:
    """Overlapping groups."""
    from spinney.classify import fit
    from spinney.classify.readout import model_groups

    how: dict[str, Any] = {"penalty": "overlap", "lam": 0.03, "l1": 2.0, "l2": 1.0, "tol": 1e-4}
    model = fit((tour.texts, tour.statements()), features="counts", min_count=2, groups="sentence", **how)
    model.save(tour.place("sentences.spinney"))
    groups: Any = model.estimator.groups
    status = model_groups(model, top=3)
    assert status is not None
    rows = [["kept", _cut(view.name)] for view in status.selected[:2]]
    rows += [["removed", _cut(view.name)] for view in status.removed[:2]]
    active, violation = model.facts["active"], model.facts["violation"]
    return [
        _facts(memberships=len(groups.members), removed=status.n_removed, active=active, violation=violation),
        Extra("groups", "", len(groups)),
        Note(
            f"{len(groups):,} sentences are overlapping groups with {len(groups.members):,} members. {active:,} of "
            f"{model.facts['features']:,} words remain, and {status.n_removed:,} whole sentences are removed."
        ),
        Table("", "", ["", "sentence"], rows),
    ]


def versions(tour: Tour) -> list[View]:
    """A trend over the versions of Python."""
    import re

    import numpy as np

    from spinney.trend import Documents, fit
    from spinney.views import Spark

    paragraphs = [one for document in tour.documents for one in document.text.split("\n\n")]
    found = [(text, int(match[1])) for text in paragraphs if (match := re.search(r"version 3\.(\d+)", text))]
    texts, minor = zip(*found)
    notes = Documents(list(texts), times=np.array(minor) // 3)
    model = fit(notes, method="ridge-ts", lam=1.0, min_count=4, every=3)
    model.save(tour.place("versions.spinney"))
    strands = [strand for strand in model.strongest(20)["(all)"] if strand.word.isalpha()]
    rows = [(strand.word, [float(value) for value in strand.values]) for strand in strands]
    rows.sort(key=lambda row: row[1][0] - row[1][-1])
    return [
        _facts(notes=len(texts), series=dict(rows)),
        Note(f"{len(texts)} notes on versions 3.{min(minor)} to 3.{max(minor)}, three versions per step:"),
        Table("", "", ["word", "over time"], [[word, Spark(of)] for word, of in [*rows[:3], *rows[-3:]]]),
    ]


def language(tour: Tour) -> list[View]:
    """Smoothed counts, and weights on a suffix trie."""
    from spinney.corpus import sample_sentences, sentence_arrays
    from spinney.lm.loglinear import fit_loglinear
    from spinney.lm.smoothing import fit_ngram

    sentences = [[word.lower() for word in words] for words in sample_sentences()]
    train = [words for i, words in enumerate(sentences) if i % 10 != 9]
    seen = {tuple(words) for words in train}  # the manual repeats itself
    test = [words for words in sentences[9::10] if tuple(words) not in seen]
    arrays = sentence_arrays(train, min_count=2, unknown="<unk>")
    counted = fit_ngram(arrays, "modified-kneser-ney", order=4)
    learned = fit_loglinear(arrays, 4, lam=0.5, tol=1e-2, max_iter=50)
    learned.facts["reading"] = {"lowercase": True}
    learned.save(tour.place("language.spinney"))
    perplexity = {
        "mkn": counted.perplexity(test).perplexity,
        "loglinear": learned.perplexity(test).perplexity,
    }
    drawn = learned.sample(3, max_words=20, temperature=0.7, random_state=tour.seed + 1)
    context = ["is", "raised", "if"]
    following = learned.next_words(context, 4)
    active = learned.facts["active"]
    return [
        _facts(words=len(arrays.vocabulary), perplexity=perplexity, active=active),
        Note(
            f"On unseen sentences, Kneser-Ney smoothing has a perplexity of {perplexity['mkn']:.1f} (vocabulary: "
            f"{len(arrays.vocabulary):,} words); {active:,} weights on a suffix trie with a tree norm reach "
            f"{perplexity['loglinear']:.1f}. Sentences drawn from the second model:"
        ),
        Extra("sentences", "", drawn),
        *(Note(_cut(" ".join(words))) for words in drawn),
        Extra("next", "", following),
        Note(f"After {' '.join(context)}: {', '.join(f'{word} {p:.0%}' for word, p in following)}."),
    ]


def syntax(tour: Tour) -> list[View]:
    """Grammars of Python."""
    from spinney.corpus.code_trees import sample_trees
    from spinney.evaluate import parseval
    from spinney.parsing import fit
    from spinney.parsing.reading import describe_label
    from spinney.views import PhraseTree

    trees = sample_trees()
    train = [tree for i, tree in enumerate(trees) if i % 5 != 4]
    test = trees[4::5][:300]
    plain: Any = fit(train, method="pcfg")
    latent: Any = fit(train, method="clustering", states=8, seed=tour.seed)
    latent.save(tour.place("parser.spinney"))
    tokens = [tree.leaves() for tree in test]
    found = {"pcfg": plain.parse(tokens), "clustering": latent.parse(tokens)}
    f1 = {name: parseval(test, guess).f1 for name, guess in found.items()}
    mended = [i for i, tree in enumerate(test) if found["clustering"][i] == tree != found["pcfg"][i]]
    example = max(mended, key=lambda i: (len(tokens[i]) <= 14, len(tokens[i])), default=0)
    states = describe_label(latent, "NAME", 8).states
    rows = [
        [f"{state.share:.0%}", ", ".join(share.name for share in state.typical_words)] for state in states
    ]
    return [
        _facts(statements=len(train), f1=f1),
        Note(
            f"The training set is {len(train):,} statements of Python's library with trees from Python's own parser. "
            f"From tokens alone, a plain grammar of {len(plain.rules_.binary):,} rules finds the phrases of other "
            f"statements with an F1 of {f1['pcfg']:.0%}. With up to 8 latent states per label, found by spectral "
            f"clustering, F1 is {f1['clustering']:.0%}. A statement that only the second grammar gets right:"
        ),
        PhraseTree("tree", "", str(found["clustering"][example])),
        Extra("states", "", [[share.name for share in state.typical_words] for state in states]),
        Note("The states of NAME, learned without being labelled, separate modules, methods and functions:"),
        Table("", "", ["share", "words"], rows),
    ]


def pipeline(tour: Tour) -> list[View]:
    """From raw text to trees, from forty sentences."""
    from spinney.corpus.sample_treebank import sample_treebank
    from spinney.corpus.surface import raw_text
    from spinney.evaluate.conll18 import conll18
    from spinney.pipeline import fit

    train, test = sample_treebank(40), sample_treebank(30, seed=1)
    model = fit(train, jackknife=2, seed=tour.seed)
    model.save(tour.place("pipeline.spinney"))
    scores = conll18(test, model(raw_text(test)))
    f1 = {metric: scores[metric].f1 for metric in ("Sentences", "Words", "UPOS", "UFeats", "Lemmas", "LAS")}
    known = {form for sentence in train for form in sentence.forms}
    example = max(test, key=lambda one: (len(set(one.forms) - known), len(one)))
    (found,) = model(raw_text([example]).strip())
    new = sorted(set(found.forms) - known)
    columns = (found.forms, found.lemmas, found.upos, found.feats, found.deprels)
    heads = ["–" if not head else found.forms[head - 1] for head in found.heads]
    return [
        _facts(sentences=len(train), f1=f1, active=model.facts["active"]),
        Note(
            f"{len(train)} sentences of an invented language, with tags, lemmas and trees, make a tokeniser, a tagger, "
            f"a lemmatiser and a parser ({model.facts['active']:,} weights in one file). From the raw text of "
            f"{len(test)} other sentences, they find {f1['Words']:.0%} of the words, {f1['UPOS']:.0%} of their tags, "
            f"{f1['Lemmas']:.0%} of their lemmas, and {f1['LAS']:.0%} of their heads with the right relation:"
        ),
        Extra("example", "", str(found)),
        Note(raw_text([example]).strip()),
        Table("", "", ["word", "lemma", "tag", "features", "relation", "head"], list(zip(*columns, heads))),
        Note(
            f"New to it: {', '.join(new)}." if new else "All of these words were in the training sentences."
        ),
    ]


#: The scenes in their order, by their names in JSON, each with its title.
SCENES: dict[str, tuple[str, Callable[[Tour], list[View]]]] = {
    "corpus": ("A corpus that is always there", corpus),
    "classifier": ("A sparse classifier: which theme is a paragraph from?", classifier),
    "families": ("Structure in the penalty: word families are kept or dropped together", word_families),
    "tree": ("A tree norm: a phrase may enter only after its first word", phrases),
    "solvers": ("One certificate for all solvers", solvers),
    "tagger": ("A tagger: where do words begin when the spaces are gone?", tagger),
    "classes": ("Word classes, learned without labels", word_classes),
    "embedding": ("Eigenwords: vectors from the words around each word", word_vectors),
    "structure": (
        "The main idea: classes learned without labels improve a tagger with few labels",
        structure_at_work,
    ),
    "sentences": ("Sentences as groups: the words of a sentence are kept or dropped together", sentences),
    "versions": ("Text over time: what the manual says about each version of Python", versions),
    "language": ("Language models: which word comes next?", language),
    "syntax": ("A parser: the grammar of Python, learned from Python", syntax),
    "pipeline": ("A pipeline: from raw text to trees, from forty sentences of a language", pipeline),
}


def _facts(**values: Any) -> Facts:
    """Facts that only JSON output shows: in the terminal, the notes contain them."""
    return Facts("facts", "", values, {})


def _cut(text: str) -> str:
    return text if len(text) <= 90 else text[:89] + "…"
