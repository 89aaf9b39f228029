"""Every kind of model keeps the contract: one of each is made, saved, and opened by ``spinney.load``."""

import json

import numpy as np
import pytest

import spinney
from spinney import classes, classify, embed, lm, parsing, pipeline, tagging, trend
from spinney.corpus import sentence_arrays
from spinney.kinds import KINDS
from spinney.lm.cache import CacheModel
from spinney.lm.classbased import fit_class_targets
from spinney.lm.recipes import mix
from spinney.model import FACTS, Model
from spinney.settings import Settings
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors
from spinney.views import View, as_json

SENTENCES = [
    f"the {a} sees a {b}".split() for a in ("dog", "cat", "fox") for b in ("bird", "bone", "tree")
] * 4
TREES = [
    f"(S (NP (D the) (N {a})) (VP (V sees) (NP (D a) (N {b}))))"
    for a in ("dog", "cat")
    for b in ("bone", "fox")
]
PATHS = WordClasses(["the", "a", "dog", "cat", "sees"], [0, 0, 1, 1, 2], paths=["00", "01", "1"])
#: Facts that were called otherwise before there was one vocabulary.
GONE = {"path", "n_active", "n_iter", "n_parameters", "tokens_a_second", "time"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("kinds")
    (root / "text.txt").write_text("".join(" ".join(words) + "\n" for words in SENTENCES))
    (root / "trees.mrg").write_text("\n".join(TREES * 3) + "\n")
    row = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_"
    heads = [("D", 2, "det"), ("N", 3, "nsubj"), ("V", 0, "root"), ("D", 5, "det"), ("N", 3, "obj")]
    blocks = (
        "\n".join(row.format(i, word, *head) for i, (word, head) in enumerate(zip(words, heads), 1))
        for words in SENTENCES
    )
    (root / "trees.conllu").write_text("\n\n".join(blocks) + "\n\n")
    rows = (f"{' '.join(words)},{2000 + i % 3},{i}" for i, words in enumerate(SENTENCES))
    (root / "dated.csv").write_text("\n".join(["text,time,y", *rows]) + "\n")
    return root


def _series(estimator):
    rng = np.random.default_rng(0)
    X, times = rng.standard_normal((40, 3)), np.repeat(np.arange(4), 10)
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    return estimator.fit(
        X, (y > 0).astype(int) if isinstance(estimator, trend.TimeSeriesClassifier) else y, times
    )


TEXTS = [" ".join(words) for words in SENTENCES]
LABELS = [words[1] for words in SENTENCES]
MAKERS = {
    "tagging/Tagger": lambda f: tagging.fit((SENTENCES, [list("DNVDN")] * len(SENTENCES)), preset="pos"),
    "classify/LinearClassifier": lambda f: classify.fit((TEXTS, LABELS), lam=0.1),
    "classify/LinearRegressor": lambda f: classify.fit(
        (TEXTS, list(range(len(TEXTS)))), regression=True, lam=0.1
    ),
    "classify/TreeClassifier": lambda f: classify.fit((TEXTS, LABELS), method="tree", class_tree="huffman"),
    "classes/Clustering": lambda f: classes.fit(str(f / "text.txt"), classes=3),
    "classes/HiddenMarkov": lambda f: classes.fit(str(f / "text.txt"), method="hmm", classes=3, passes=1),
    "classes/PairClasses": lambda f: classes.fit(str(f / "text.txt"), method="pairs", classes=3, passes=9),
    "embed/Embedding": lambda f: embed.fit(str(f / "text.txt"), dimensions=2),
    "embed/SpectralHMM": lambda f: embed.fit(str(f / "text.txt"), method="hmm", states=2),
    "embed/MomentTopics": lambda f: embed.fit(SENTENCES, method="topics", topics=2, stop_words=0),
    "lm/BackoffModel": lambda f: lm.fit(str(f / "text.txt"), order=3),
    "lm/FlatModel": lambda f: lm.fit(str(f / "text.txt"), method="additive", order=2),
    "lm/SequenceMemoizer": lambda f: lm.fit(str(f / "text.txt"), method="memoizer", sweeps=2),
    "lm/LogLinearModel": lambda f: lm.fit(str(f / "text.txt"), method="loglinear", order=2),
    "lm/HierarchicalModel": lambda f: lm.fit(SENTENCES, method="hierarchical", order=2),
    "lm/ClassModel": lambda f: lm.fit(str(f / "text.txt"), method="class", order=2, classes=PATHS),
    "lm/ClassTargetModel": lambda f: fit_class_targets(
        sentence_arrays(SENTENCES, unknown="<unk>"), PATHS, order=2
    ),
    "lm/CacheModel": lambda f: CacheModel(sentence_arrays(SENTENCES, unknown="<unk>").vocabulary),
    "lm/LinearMixture": lambda f: _mixture(f),
    "lm/LogLinearMixture": lambda f: _mixture(f, log_linear=True),
    "parsing/Parser": lambda f: parsing.fit(str(f / "trees.mrg"), method="pcfg"),
    "parsing/HeadAutomata": lambda f: parsing.fit(str(f / "trees.conllu"), method="automata-bigram"),
    "parsing/TreeCRF": lambda f: parsing.fit(str(f / "trees.conllu"), method="tree-crf", solver="adagrad"),
    "tagging/MorphTagger": lambda f: tagging.fit(str(f / "trees.conllu"), method="morph"),
    "tagging/RefinementTagger": lambda f: tagging.fit(
        str(f / "trees.conllu"), method="refinement", format="conllu", states=2
    ),
    "pipeline/Pipeline": lambda f: pipeline.fit(str(f / "trees.conllu"), jackknife=2),
    "trend/TrendModel": lambda f: trend.fit(str(f / "dated.csv"), method="ridge-ts"),
    "trend/TimeSeriesRegressor": lambda f: _series(trend.TimeSeriesRegressor("ridge-ts")),
    "trend/TimeSeriesClassifier": lambda f: _series(trend.TimeSeriesClassifier("ridge-ts")),
    "trend/TimeSeriesTextModel": lambda f: trend.fit(str(f / "dated.csv"), method="ridge-ts").series,
    "structure/WordClasses": lambda f: PATHS,
    "structure/WordVectors": lambda f: WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32)),
    "structure/Groups": lambda f: Groups.from_lists([[0, 1], [2]], n_features=3),
    "structure/ClassTree": lambda f: ClassTree.balanced(["a", "b", "c"]),
}


def _mixture(files, **how):
    for name, order in (("one", 1), ("two", 2)):
        lm.fit(str(files / "text.txt"), order=order).save(files / name)
    return mix([str(files / "one"), str(files / "two")], dev=str(files / "text.txt"), **how)


def test_every_kind_is_tried():
    assert set(MAKERS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_the_contract(files, kind):
    made = MAKERS[kind](files)
    path = files / "model.spinney"
    made.save(path)
    model = spinney.load(path)
    assert type(model) is type(made)
    assert isinstance(model, Model)
    assert model.kind == made.kind == kind
    assert isinstance(model.facts, dict)
    assert not GONE & set(model.facts)
    settings = made.settings if getattr(made, "settings", None) is not None else None
    if isinstance(settings, Settings) and len(settings.as_dict()) == len(settings.values()):
        assert model.settings == settings
        assert "method = " in model.config() or not hasattr(settings, "method")
    for views in (model.views(), model.summary(), model.report_views()):
        assert all(isinstance(view, View) for view in views)
        assert isinstance(json.loads(json.dumps(as_json(views), allow_nan=False)), dict)
    assert "<" in model._repr_html_()
    assert {"classes", "vectors", "groups", "tree", "topics", "parser", "constituents"} >= set(
        model.structures()
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.partition("/")[0] not in ("structure",)])
@pytest.mark.filterwarnings("ignore")
def test_fits_share_their_vocabulary_of_facts(files, kind):
    """What recipes note of a fit has the names of the contract: sizes, seconds, what was read."""
    made = MAKERS[kind](files)
    if getattr(made, "settings", None) is None:
        pytest.skip("not made by a recipe")
    assert {"method", "seconds", "parameters"} <= set(made.facts), sorted(made.facts)
    assert set(made.facts) & {"sentences", "documents"}
    assert set(FACTS) & set(made.facts)


def test_a_model_with_nan_is_not_saved(tmp_path):
    """A fit that went wrong leaves the model alone that was there before."""
    path = tmp_path / "m"
    model = spinney.load(_saved(path))
    before = path.read_bytes()
    model.vectors_ = model.vectors_ * float("nan")
    with pytest.raises(ValueError, match=r"the fit gave no numbers \(NaN\) for vectors, and is not saved"):
        model.save(path)
    assert path.read_bytes() == before


def _saved(path):
    from spinney.embed import fit

    fit([["a", "b", "c"], ["b", "c", "d"]] * 5, dimensions=2, min_count=1).save(path)
    return path
