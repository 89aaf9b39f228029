"""A tiny model of each kind, fitted to a few made-up sentences, and data to try it on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_NOUNS, _VERBS = ["dog", "cat", "rose", "judge", "Élan"], ["sees", "likes", "bites"]
_SENTENCES = [
    f"the {_NOUNS[i % 5]} {_VERBS[i % 3]} {'a' if i % 2 else 'the'} {_NOUNS[(i + 1 + i // 5) % 5]}".split()
    for i in range(24)
]
_TAGS = {"the": "D", "a": "D", **dict.fromkeys(_NOUNS, "N"), **dict.fromkeys(_VERBS, "V")}


def write_data(folder: Path) -> None:
    """The sentences in the format of each task; ``few`` has the first ones alone."""
    for stem, sentences in (("all", _SENTENCES), ("few", _SENTENCES[:4])):
        lines = [" ".join(words) for words in sentences]
        (folder / f"{stem}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        cells = ["\n".join(f"{word} {_TAGS[word]}" for word in words) for words in sentences]
        (folder / f"{stem}.col").write_text("\n\n".join(cells) + "\n", "utf-8")
        rows = [
            f"{line},{words[1] in 'dog cat'},{len(line)},{2000 + i % 3}"
            for i, (line, words) in enumerate(zip(lines, sentences))
        ]
        (folder / f"{stem}.csv").write_text("\n".join(["text,label,y,time", *rows]) + "\n", "utf-8")
        numbers = [f"{line},{len(line)}" for line in lines]
        (folder / f"{stem}.numbers.csv").write_text("\n".join(["text,label", *numbers]) + "\n", "utf-8")
        trees = [f"(S (NP (D {a}) (N {b})) (VP (V {c}) (NP (D {d}) (N {e}))))" for a, b, c, d, e in sentences]
        (folder / f"{stem}.mrg").write_text("\n".join(trees) + "\n", "utf-8")
        heads = [2, 3, 0, 5, 3]
        blocks = [
            "\n".join(
                f"{i}\t{word}\t{word}\t{_TAGS[word]}\t{_TAGS[word]}\t_\t{head}\t{'root' if not head else 'dep'}\t_\t_"
                for i, (word, head) in enumerate(zip(words, heads), 1)
            )
            for words in sentences
        ]
        (folder / f"{stem}.conllu").write_text("\n\n".join(blocks) + "\n\n", "utf-8")


def _tagger(f: Path) -> Any:
    from spinney.structure import WordClasses, WordVectors
    from spinney.tagging.recipes import fit

    WordClasses(["the", "a", "dog", "cat"], [0, 0, 1, 2], paths=["0", "10", "11"]).save(f / "classes.spinney")
    WordVectors(["the", "dog"], np.eye(2)).save(f / "vectors.spinney")
    (f / "patterns").write_text(
        'U0:%x[0,0]\nU1:%x[-1,0]/%lower[0,0]\nU2:%suffix[0,0,2]\nU3:%t[0,0,"^\\u\\l+$"]\nU4:%class[0,0,c]\n'
        'U5:%path[0,0,c,1]\nU6:%vector[0,0,v]\nU7:%M[0,0,"[aeiou]+"]\nB\n',
        "utf-8",
    )
    return fit(
        str(f / "all.col"), penalty="elasticnet", max_iter=3, patterns=str(f / "patterns"),
        classes=[f"c={f / 'classes.spinney'}"], vectors=[f"v={f / 'vectors.spinney'}"],
    )  # fmt: skip


def _classify(suffix: str = ".csv", **settings: Any) -> Callable[[Path], Any]:
    def make(f: Path) -> Any:
        from spinney.classify.recipes import fit

        return fit(str(f / f"all{suffix}"), min_count=1, max_iter=5, **settings)

    return make


def _of_text(package: str, **settings: Any) -> Callable[[Path], Any]:
    def make(f: Path) -> Any:
        from importlib import import_module

        return import_module(f"spinney.{package}.recipes").fit(str(f / "all.txt"), **settings)

    return make


def _topics(f: Path) -> Any:
    from spinney.embed.recipes import fit

    texts = [
        " ".join(["dog cat bites", "rose judge likes"][i % 2].split() * 3 + _SENTENCES[i]) for i in range(12)
    ]
    (f / "topics.csv").write_text("\n".join(["text", *texts]) + "\n", "utf-8")
    return fit(str(f / "topics.csv"), method="topics", topics=2, polish=1, min_count=1, stop_words=0)


def _arrays(f: Path) -> Any:
    from spinney.corpus import sentence_arrays

    return sentence_arrays(_SENTENCES, min_count=1, unknown="<unk>")


def _word_classes() -> Any:
    from spinney.structure import WordClasses

    words = list(_TAGS)
    return WordClasses(words, ["DNV".index(tag) for tag in _TAGS.values()], counts=range(len(words)))


def _lm(method: str, **settings: Any) -> Callable[[Path], Any]:
    return _of_text("lm", method=method, **{"order": 2, "min_count": 1, **settings})


def _class_model(f: Path) -> Any:
    _word_classes().save(f / "c.spinney")
    return _lm("class", classes=str(f / "c.spinney"))(f)


def _class_targets(f: Path) -> Any:
    from spinney.lm.classbased import fit_class_targets

    return fit_class_targets(_arrays(f), _word_classes(), order=2)


def _cache(f: Path) -> Any:
    from spinney.lm.cache import CacheModel

    return CacheModel(_arrays(f).vocabulary, window=8, decay=0.9, order=2)


def _mixture(log_linear: bool) -> Callable[[Path], Any]:
    def make(f: Path) -> Any:
        from spinney.lm.recipes import mix

        _lm("wb")(f).save(f / "m.spinney")
        return mix(
            [str(f / "m.spinney")], cache_words=5, dev=str(f / "few.txt"), log_linear=log_linear,
            **({} if log_linear else {"by": "depth"}),
        )  # fmt: skip

    return make


def _parser(f: Path) -> Any:
    from spinney.parsing.recipes import fit

    return fit(str(f / "all.mrg"), states=2, rare=1)


def _morphology(f: Path) -> Any:
    from spinney.tagging.recipes import fit

    return fit(str(f / "all.conllu"), method="morph", passes=3)


def _refinement(f: Path) -> Any:
    from spinney.tagging.recipes import fit

    return fit(str(f / "all.conllu"), method="refinement", format="conllu", states=2, rare=0)


def _tree_crf(f: Path) -> Any:
    from spinney.parsing.recipes import fit

    return fit(str(f / "all.conllu"), method="tree-crf", solver="adagrad", lam=0.1)


def _pipeline(f: Path) -> Any:
    from spinney.pipeline import fit

    return fit(str(f / "all.conllu"), jackknife=1, lam=0.1)


def _automata(f: Path) -> Any:
    from spinney.parsing.recipes import fit

    return fit(str(f / "all.conllu"), method="automata")


def _trend(f: Path) -> Any:
    from spinney.trend.recipes import fit

    return fit(str(f / "all.csv"), method="ridge-ts", lam=0.1, min_count=1)


def _series(name: str) -> Callable[[Path], Any]:
    def make(f: Path) -> Any:
        import spinney.trend

        rng = np.random.default_rng(0)
        X, times = rng.poisson(1.0, (12, 3)).astype(float), np.repeat([2001, 2002, 2003], 4)
        model = getattr(spinney.trend, name)("adaptive", max_iter=3)
        if name == "TimeSeriesTextModel":
            model.fit(X, np.ones((12, 1)), times)
        else:
            model.fit(X, np.arange(12.0) % 2, times)
        return model

    return make


def _groups(f: Path) -> Any:
    from spinney.structure import Groups

    return Groups.from_lists([[0, 1, 2], [1, 2], [4]], n_features=5, names=["x", "y", "z"])


def _tree(f: Path) -> Any:
    from spinney.structure import ClassTree

    return ClassTree.balanced(["a", "b", "c", "d"])


def _vectors(f: Path) -> Any:
    from spinney.structure import WordVectors

    return WordVectors(list(_TAGS), np.random.default_rng(0).normal(size=(len(_TAGS), 3)))


#: How a model of each kind is made, and the suffix of the data to try it on ("" for none).
MODELS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "tagging/Tagger": (_tagger, ".col"),
    "tagging/MorphTagger": (_morphology, ".conllu"),
    "tagging/RefinementTagger": (_refinement, ".conllu"),
    "classify/LinearClassifier": (_classify(penalty="l1", lam=0.1), ".csv"),
    "classify/LinearRegressor": (_classify(".numbers.csv", regression=True, penalty="l2"), ".numbers.csv"),
    "classify/TreeClassifier": (_classify(method="tree", class_tree="balanced", penalty="l2"), ".csv"),
    "classes/Clustering": (_of_text("classes", classes=3), ".txt"),
    "classes/HiddenMarkov": (_of_text("classes", classes=3, method="hmm", passes=1), ".txt"),
    "classes/PairClasses": (_of_text("classes", classes=3, method="pairs", passes=3), ".txt"),
    "embed/Embedding": (_of_text("embed", dimensions=2, min_count=1, subwords=9), ".txt"),
    "embed/SpectralHMM": (
        _of_text("embed", method="hmm", states=2, min_count=1, recover="operators"),
        ".txt",
    ),
    "embed/MomentTopics": (_topics, ".csv"),
    "lm/BackoffModel": (_lm("mkn"), ".txt"),
    "lm/FlatModel": (_lm("additive"), ".txt"),
    "lm/SequenceMemoizer": (_lm("memoizer", order="unbounded", sweeps=2), ".txt"),
    "lm/LogLinearModel": (_lm("loglinear", max_iter=3), ".txt"),
    "lm/HierarchicalModel": (_lm("hierarchical", max_iter=3), ".txt"),
    "lm/ClassModel": (_class_model, ".txt"),
    "lm/ClassTargetModel": (_class_targets, ".txt"),
    "lm/CacheModel": (_cache, ".txt"),
    "lm/LinearMixture": (_mixture(log_linear=False), ".txt"),
    "lm/LogLinearMixture": (_mixture(log_linear=True), ".txt"),
    "parsing/Parser": (_parser, ".mrg"),
    "parsing/HeadAutomata": (_automata, ".conllu"),
    "parsing/TreeCRF": (_tree_crf, ".conllu"),
    "pipeline/Pipeline": (_pipeline, ".conllu"),
    "trend/TrendModel": (_trend, ".csv"),
    "trend/TimeSeriesRegressor": (_series("TimeSeriesRegressor"), ""),
    "trend/TimeSeriesClassifier": (_series("TimeSeriesClassifier"), ""),
    "trend/TimeSeriesTextModel": (_series("TimeSeriesTextModel"), ""),
    "structure/WordClasses": (lambda f: _word_classes(), ".txt"),
    "structure/WordVectors": (_vectors, ".txt"),
    "structure/Groups": (_groups, ""),
    "structure/ClassTree": (_tree, ""),
}
