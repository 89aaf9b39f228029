"""``spinney embed``: every verb on every kind of model, and one clear line for each mistake."""

import random

import numpy as np
import pytest

from spinney.cli.main import run
from spinney.corpus import read_text
from spinney.embed import Embedding, MomentTopics, SpectralHMM
from spinney.kinds import load as load_model
from spinney.structure import WordClasses, WordVectors
from spinney.structure._forest import depths as levels

TASK = "embed"

DETERMINERS = ["the", "a", "this", "every"]
NOUNS = ["dog", "cat", "tree", "wood", "bird"]
VERBS = ["sees", "hears", "finds"]
SPORT = ["ball", "goal", "team", "match", "coach", "league"]
LAW = ["court", "judge", "trial", "appeal", "lawyer", "verdict"]
VECTORS = ["cca", "tscca", "lrmvl", "svd", "rescaled", "pmi", "sparse", "lasso"]
MODELS = [*VECTORS, "hmm", "topics"]


def sentences(n, seed):
    """Sentences of a toy grammar."""
    rng = random.Random(seed)
    phrase = lambda: [rng.choice(DETERMINERS), rng.choice(NOUNS)]  # noqa: E731
    return [[*phrase(), rng.choice(VERBS), *phrase()] for _ in range(n)]


def documents(n, seed):
    """Documents of one of two topics each."""
    rng = random.Random(seed)
    return [rng.choices(SPORT if d % 2 else LAW, k=12) for d in range(n)]


def lines(some):
    return "".join(" ".join(words) + "\n" for words in some)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with text, documents, questions, and a model of each kind."""
    root = tmp_path_factory.mktemp("embed")
    (root / "train.txt").write_text(lines(sentences(150, 1)))
    (root / "dev.txt").write_text(lines(sentences(20, 2)))
    (root / "docs.txt").write_text(lines(documents(60, 1)))
    (root / "dev-docs.txt").write_text(lines(documents(10, 2)))
    (root / "pairs.txt").write_text(
        "dog cat 9\nsees hears 8\nthe dog 1\ndog sees 1.5\nthe finds 0\nox dog 5\n"
    )
    (root / "questions.txt").write_text(
        ": animals\ndog cat cat dog\nthe dog a cat\nox cow dog cat\n: gram1-verbs\ndog sees cat hears\n"
    )
    rows = [(word, kind) for kind, some in (("noun", NOUNS), ("verb", VERBS)) for word in some]
    (root / "kinds.csv").write_text(",category,word\n" + "".join(f"0,{k},{w}\n" for w, k in rows))
    (root / "labelled.txt").write_text("1 dog sees\n0 tree finds\n1 dog hears\n0 tree finds\n" * 3)
    options = {
        "sparse": ["--dimensions", 6, "--branching", "2", "--lam", 0.5],
        "lasso": ["--dimensions", 4, "--lam", 0.5],
        "hmm": ["--states", 4, "--pseudo", 1],
        "topics": ["--topics", 2, "--stop-words", 0, "--min-count", 2],
    }
    for name in MODELS:
        text = root / ("docs.txt" if name == "topics" else "train.txt")
        rest = options.get(name, ["--dimensions", 4])
        command = ["embed", "fit", text, "--method", name, "--model", root / name, *rest, "--quiet", "--json"]
        assert run([str(part) for part in command]) == 0
    return root


# ------------------------------------------------------------------------------------------ fit


@pytest.mark.parametrize("name", VECTORS)
def test_models_hold_vectors_of_the_words(data, name):
    model = Embedding.load(data / name)
    assert model.method == name
    assert set(model.vocabulary_.words) == {"<unk>", *DETERMINERS, *NOUNS, *VERBS}
    assert model.vectors_.shape == (13, 6 if name == "sparse" else 4)


def test_the_command_does_what_the_library_does(facts, data, tmp_path):
    options = ["--window", "1,2", "--positional", "--transform", "raw", "--rows", "plain", "--seed", 3]
    found = facts("fit", data / "train.txt", "--dimensions", 5, *options, "--model", tmp_path / "m")
    text = read_text(str(data / "train.txt"), min_count=5)
    how = {"window": (1, 2), "positional": True, "transform": "raw", "rows": "plain", "random_state": 3}
    model = Embedding("cca", 5, **how).fit(text)
    assert np.array_equal(model.vectors_, Embedding.load(tmp_path / "m").vectors_)
    assert (found["sentences"], found["tokens"], found["words"], found["dimensions"]) == (150, 750, 13, 5)
    assert found["pairs"] == model.facts["pairs"]
    assert found["tokens_per_second"] > 0
    assert found["reading"]["unknown"] == "<unk>"


def test_codes_of_zeros_are_said(spinney, facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--method", "sparse", "--dimensions", 6, "--branching", "2"]
    err = spinney(*command, "--lam", 1e6, "--model", tmp_path / "m")[2]
    assert "warning: the model is empty: the penalty left no weight (lower --lam)" in err
    assert (
        "The vector of dog is zero: it has no neighbours." in spinney("neighbours", tmp_path / "m", "dog")[1]
    )
    assert facts("neighbours", tmp_path / "m", "dog")["neighbours"] == {"dog": []}


def test_facts_of_codes_hmm_and_topics(spinney, facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--model", tmp_path / "m"]
    codes = facts(*command, "--method", "sparse", "--dimensions", 6, "--branching", "2", "--lam", 2)
    assert 0 < codes["nonzero_share"] < 1
    assert codes["gap"] < 1e-3 * codes["objective"]
    hmm = facts(*command, "--method", "hmm", "--states", 3, "--variant", "reduced")
    assert (hmm["method"], hmm["states"]) == ("hmm", 3)
    assert SpectralHMM.load(tmp_path / "m").how.variant == "reduced"
    command = ["fit", data / "docs.txt", "--method", "topics", "--topics", 2, "--model", tmp_path / "m"]
    topics = facts(*command, "--stop-words", 2, "--polish", 3, "--alpha0", 1)
    assert (topics["documents"], topics["words"], topics["topics"], topics["passes"]) == (60, 10, 2, 3)
    assert MomentTopics.load(tmp_path / "m").alpha0 == 1
    code, out, _ = spinney(*command, "--stop-words", 0)
    assert code == 0
    assert "documents" in out


def test_topics_are_found(data):
    model = MomentTopics.load(data / "topics")
    found = {frozenset(word for word, _ in model.topic_words(k, 6)) for k in range(2)}
    assert found == {frozenset(SPORT), frozenset(LAW)}


def test_documents_of_every_kind(facts, tmp_path):
    texts = [" ".join(words).capitalize() + "." for words in documents(20, 1)]
    (tmp_path / "folder").mkdir()
    for i, text in enumerate(texts):
        (tmp_path / "folder" / f"{i:02}.txt").write_text(text)
    (tmp_path / "table.csv").write_text("id,body\n" + "".join(f'1,"{text}"\n' for text in texts))
    (tmp_path / "prose.txt").write_text("\n\n".join(texts))
    options = ["--method", "topics", "--topics", 2, "--lowercase", "--stop-words", 1, "--min-count", 1]
    for file, *how in (("folder",), ("table.csv", "--text", "body"), ("prose.txt", "--format", "prose")):
        found = facts("fit", tmp_path / file, *how, *options, "--model", tmp_path / "m")
        # The commonest word is the full stop or one of the twelve others.
        assert (found["documents"], found["words"]) == (20, 12)
        applied = facts("apply", tmp_path / "m", tmp_path / file, *how)
        assert len(applied["documents"]) == 20
    assert facts("apply", tmp_path / "m", tmp_path / "folder")["documents"][1]["id"] == "01.txt"


def test_text_kept_in_a_folder(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--dimensions", 3, "--model", tmp_path / "m"]
    first = facts(*command, "--cache", tmp_path / "cache")
    note = (tmp_path / "cache" / "read.json").stat().st_mtime_ns
    assert facts(*command, "--cache", tmp_path / "cache")["pairs"] == first["pairs"]
    assert (tmp_path / "cache" / "read.json").stat().st_mtime_ns == note


# ---------------------------------------------------------------------------------------- apply


def rows_of(out):
    """Words and numbers of each sentence of what apply wrote."""
    return [
        [(line.split("\t")[0], [float(n) for n in line.split("\t")[1:]]) for line in part.split("\n")]
        for part in out.strip("\n").split("\n\n")
    ]


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("states", [False, True])
def test_vectors_and_states_of_tokens(spinney, facts, refused, data, name, states):
    command = ["apply", data / name, data / "dev.txt", *(["--what", "states"] if states else [])]
    model = Embedding.load(data / name)
    if states and not model.states_:
        assert "no states of tokens" in refused(*command)
        return
    text = read_text(str(data / "dev.txt"), vocabulary=model.vocabulary_)
    expected = model.token_states(text) if states else model.token_vectors(text)
    found = rows_of(spinney(*command)[1])
    assert [[word for word, _ in rows] for rows in found] == sentences(20, 2)
    assert np.array_equal(np.array([n for rows in found for _, n in rows], np.float32), expected)
    as_json = facts(*command)["sentences"]
    key = "states" if states else "vectors"
    assert np.array_equal(np.concatenate([one[key] for one in as_json]).astype(np.float32), expected)


def test_a_spectral_hmm_gives_states_and_probabilities(spinney, facts, data, tmp_path):
    model = SpectralHMM.load(data / "hmm")
    text = read_text(str(data / "dev.txt"), vocabulary=model.vocabulary_)
    states = rows_of(spinney("apply", data / "hmm", data / "dev.txt", "--what", "states")[1])
    assert np.allclose([n for rows in states for _, n in rows], model.filter(text), rtol=1e-7, atol=1e-12)
    target = tmp_path / "out.txt"
    assert spinney("apply", data / "hmm", data / "dev.txt", "--output", target)[0] == 0
    logs = [float(line.split("\t")[0]) for line in target.read_text().splitlines()]
    assert len(logs) == 20
    assert np.exp(-sum(logs) / (text.n_tokens + len(text))) == pytest.approx(model.perplexity(text), rel=1e-6)
    as_json = facts("apply", data / "hmm", data / "dev.txt")["sentences"]
    assert [one["log_probability"] for one in as_json] == pytest.approx(logs, abs=1e-5)


def test_proportions_of_topics(spinney, facts, data):
    found = facts("apply", data / "topics", data / "dev-docs.txt")["documents"]
    assert [one["id"] for one in found] == [str(i) for i in range(1, 11)]
    shares = np.array([one["topics"] for one in found])
    assert np.allclose(shares.sum(axis=1), 1)
    assert len(set(shares[::2].argmax(axis=1))) == len(set(shares[1::2].argmax(axis=1))) == 1
    out = spinney("apply", data / "topics", data / "dev-docs.txt")[1]
    written = [[float(n) for n in line.split("\t")[1:]] for line in out.splitlines()]
    assert np.allclose(written, shares, rtol=1e-5)


def test_unknown_words_have_the_vector_of_the_unknown(spinney, data, tmp_path):
    text = tmp_path / "t.txt"
    text.write_text("the qux sees\n")
    rows = rows_of(spinney("apply", data / "cca", text)[1])[0]
    assert rows[1][0] == "qux"
    assert np.allclose(rows[1][1], Embedding.load(data / "cca").word_vectors()["<unk>"])


# ----------------------------------------------------------------------------------------- eval


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_vectors(spinney, facts, data, name, tmp_path):
    pairs = data / "pairs.txt"
    if name == "topics":
        pairs = tmp_path / "topic-pairs.txt"
        pairs.write_text("ball goal 9\ncourt judge 8\nball court 1\ngoal judge 1.5\nqux ball 3\n")
    scores = facts("eval", data / name, "--similarity", pairs)
    (row,) = scores["similarity"].values()
    assert row["known"] == row["pairs"] - 1
    assert scores["mean_spearman"] == row["spearman"]
    code, out, _ = spinney("eval", data / name, "--similarity", pairs)
    assert code == 0
    assert "mean Spearman" in out


def test_everything_beside_a_baseline(spinney, facts, data, tmp_path):
    (tmp_path / "sets").mkdir()
    for name in ("one", "two"):
        (tmp_path / "sets" / f"{name}.txt").write_text((data / "pairs.txt").read_text())
    labelled = [data / "labelled.txt"] * 3
    command = [
        "eval",
        data / "cca",
        "--similarity-folder",
        tmp_path / "sets",
        "--similarity",
        data / "pairs.txt",
    ]
    command += [
        "--analogies",
        data / "questions.txt",
        "--method",
        "3cosmul",
        "--categories",
        data / "kinds.csv",
    ]
    command += ["--sentiment", ",".join(map(str, labelled)), "--against", data / "svd"]
    scores = facts(*command)
    assert set(scores["similarity"]) == {"one", "two", "pairs"}
    assert scores["similarity"]["one"] == scores["similarity"]["pairs"]
    assert {"semantic", "syntactic", "accuracy", "method"} <= set(scores["analogies"])
    assert (scores["analogies"]["asked"], scores["analogies"]["known"]) == (4, 3)
    assert scores["categories"]["kinds"]["purity"] == 1
    assert scores["sentiment"]["sentences"] == 12
    assert scores["baseline"]["model"] == str(data / "svd")
    assert scores["baseline"]["similarity"]["one"]["pairs"] == 6
    row = scores["significance"]["similarity"]["one"]
    assert row["n"] == 5
    assert row["low"] <= row["difference"] <= row["high"]
    expected = scores["similarity"]["one"]["spearman"] - scores["baseline"]["similarity"]["one"]["spearman"]
    assert row["difference"] == pytest.approx(expected)
    assert scores["significance"]["analogies"]["n"] == 3
    assert 0 < scores["significance"]["sentiment"]["p_value"] <= 1
    code, out, _ = spinney(*command)
    assert code == 0
    assert "baseline" in out


def test_sentence_completion(facts, spinney, refused, data, tmp_path):
    gaps = tmp_path / "gaps.tsv"
    gaps.write_text("the ___ and the cat\tdog\tthe\nthe ___\tox\tcat\n")
    command = ["eval", data / "cca", "--completion", gaps, "--against", data / "svd"]
    found = facts(*command)
    assert (
        found["completion"]["sentences"],
        found["completion"]["known"],
        found["completion"]["chance"],
    ) == (2, 1, 0.5)
    assert found["completion"]["accuracy"] in (0, 1)
    assert found["significance"]["completion"]["n"] == 1
    assert "Sentence completion" in spinney(*command)[1]
    gaps.write_text("the ___\tox\tyak\n")
    assert "no sentence has vectors" in refused("eval", data / "cca", "--completion", gaps)


def test_a_model_beside_itself_is_no_better(facts, data):
    found = facts("eval", data / "pmi", "--similarity", data / "pairs.txt", "--against", data / "pmi")
    assert found["significance"]["similarity"]["pairs"]["difference"] == 0
    assert found["significance"]["similarity"]["pairs"]["p_value"] == 1


def test_perplexity_of_held_out_text(spinney, facts, data):
    model = SpectralHMM.load(data / "hmm")
    text = read_text(str(data / "dev.txt"), vocabulary=model.vocabulary_)
    found = facts("eval", data / "hmm", data / "dev.txt")
    assert found["perplexity"] == pytest.approx(model.perplexity(text))
    assert (found["sentences"], found["tokens"]) == (20, 100)
    topics = facts("eval", data / "topics", data / "dev-docs.txt", "--against", data / "topics")
    assert topics["perplexity"] < 7  # six words a topic
    assert topics["baseline"]["perplexity"] == topics["perplexity"]
    assert "perplexity" in spinney("eval", data / "hmm", data / "dev.txt", "--against", data / "hmm")[1]


# --------------------------------------------------------------------------------------- pictures


def test_maps_by_tsne_and_heat_maps(facts, refused, data, tmp_path):
    rows = facts("plot", data / "cca", tmp_path / "m.tsv", "--words", "dog,cat,the,sees", "--runs", 2)
    assert [word for word, _, _ in rows["map"]] == ["dog", "cat", "the", "sees"]
    assert len((tmp_path / "m.tsv").read_text().splitlines()) == 4
    again = facts("plot", data / "cca", tmp_path / "m.tsv", "--words", "dog,cat,the,sees", "--runs", 4)
    assert 0 <= again["divergence"] <= rows["divergence"]
    assert "three words" in refused("plot", data / "cca", tmp_path / "m.tsv", "--words", "dog")
    assert "--runs has no effect" in refused(
        "plot", data / "cca", tmp_path / "m.png", "--what", "heatmap", "--runs", 2
    )
    pytest.importorskip("matplotlib")
    for name, what in (("cca", "tsne"), ("sparse", "tsne"), ("sparse", "heatmap")):
        target = tmp_path / f"{name}-{what}.png"
        facts("plot", data / name, target, "--what", what, *(["--runs", 1] if what == "tsne" else []))
        assert target.stat().st_size > 5000
    assert "must be a .png" in refused("plot", data / "cca", tmp_path / "m.jpeg", "--what", "heatmap")


# ------------------------------------------------------------------------- inspect and neighbours


@pytest.mark.parametrize("name", MODELS)
def test_inspect(spinney, facts, data, name):
    found = facts("inspect", data / name, "--dimensions", 2, "--top", 3)
    assert len(found["strongest"]) == 2
    assert found["method"] == name
    if name == "topics":
        assert len(found["spectrum"]) == 2
        assert all(len(topic["words"]) == 3 for topic in found["strongest"])
    else:
        assert all(len(view["high"]) <= 3 for view in found["strongest"])
        assert (len(found["singular_values"]) == 0) == (name in ("sparse", "lasso"))
    code, out, _ = spinney("inspect", data / name)
    assert code == 0
    assert "tokens" in out


def test_inspect_shows_the_words_at_both_ends(facts, data):
    model = Embedding.load(data / "cca")
    vectors = model.word_vectors()
    view = facts("inspect", data / "cca", "--top", 1)["strongest"][1]
    order = np.argsort(model.vectors_[:, 1])
    assert view["high"][0][0] == vectors.words[order[-1]]
    assert view["low"][0][0] == vectors.words[order[0]]


def test_inspect_shows_the_levels_of_codes(facts, data):
    model = Embedding.load(data / "sparse")
    found = facts("inspect", data / "sparse")
    assert [row["dimensions"] for row in found["levels"]] == [2, 4]
    shares = (model.vectors_ != 0).toarray().mean(axis=0)
    depth = levels(model.parent_)
    assert found["levels"][1]["nonzero_share"] == pytest.approx(shares[depth == 1].mean())
    assert [view["level"] for view in found["strongest"]] == depth.tolist()


def test_a_dimension_is_used_only_with_the_one_above_it(facts, data, tmp_path):
    options = ["--method", "sparse", "--dimensions", 6, "--branching", "2", "--lam", 0.5]
    facts("fit", data / "train.txt", *options, "--model", tmp_path / "m")
    model = Embedding.load(tmp_path / "m")
    used = (model.vectors_ != 0).toarray()
    below = np.flatnonzero(model.parent_ >= 0)
    assert 0 < used.mean() < 1
    assert not np.any(used[:, below] & ~used[:, model.parent_[below]])


@pytest.mark.parametrize("name", MODELS)
def test_neighbours(spinney, facts, data, name):
    words = ["ball", "court"] if name == "topics" else ["dog", "sees"]
    found = facts("neighbours", data / name, *words, "--top", 4)["neighbours"]
    assert list(found) == words
    vectors = load_model(str(data / name)).vectors()
    for word, near in found.items():
        assert [(row["word"], row["cosine"]) for row in near] == vectors.neighbours(word, 4)
    if name in ("cca", "topics"):
        alike = SPORT if name == "topics" else NOUNS
        assert {row["word"] for row in found[words[0]]} <= set(alike)
    code, out, _ = spinney("neighbours", data / name, *words)
    assert code == 0
    assert f"Neighbours of {words[1]}" in out


# ----------------------------------------------------------------------------- export and cluster


@pytest.mark.parametrize("name", [*VECTORS, "hmm"])
@pytest.mark.parametrize("ending", ["txt", "vec.gz"])
def test_exported_vectors_are_read_back(facts, data, tmp_path, name, ending):
    target = tmp_path / f"v.{ending}"
    assert facts("export", data / name, target)["words"] == 13
    vectors, again = load_model(str(data / name)).vectors(), WordVectors.read_word2vec(target)
    dense = vectors.matrix.toarray() if vectors.is_sparse else vectors.matrix
    assert again.words == vectors.words
    assert np.array_equal(again.matrix, dense.astype(np.float32))
    near = facts("neighbours", target, "dog", "--top", 3)["neighbours"]["dog"]
    assert [row["word"] for row in near] == [word for word, _ in again.neighbours("dog", 3)]
    assert facts("eval", target, "--similarity", data / "pairs.txt")["similarity"]["pairs"]["known"] == 5


def test_gensim_reads_exported_vectors(facts, data, tmp_path):
    models = pytest.importorskip("gensim.models")
    facts("export", data / "cca", tmp_path / "v.txt")
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / "v.txt"))
    ours = Embedding.load(data / "cca").word_vectors()
    assert theirs.index_to_key == ours.words
    assert np.array_equal(theirs.vectors, ours.matrix)
    theirs.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    near = facts("neighbours", tmp_path / "v.bin", "dog")["neighbours"]["dog"]
    assert [row["word"] for row in near] == [word for word, _ in theirs.most_similar("dog", topn=10)]


def test_exported_topics(spinney, data, tmp_path):
    assert spinney("export", data / "topics", tmp_path / "t.tsv")[0] == 0
    header, *rows = (tmp_path / "t.tsv").read_text().splitlines()
    assert header == "topic\tword\tprobability"
    assert sum(float(row.split("\t")[2]) for row in rows) == pytest.approx(2)


@pytest.mark.parametrize("name", ["cca", "sparse", "hmm"])
def test_clusters_of_vectors(facts, data, tmp_path, name):
    found = facts("cluster", data / name, "--classes", 4, "--model", tmp_path / "k")
    assert (found["words"], found["classes"]) == (13, 4)
    assert WordClasses.load(tmp_path / "k").n_classes == 4


def test_a_tagger_takes_vectors_and_clusters(data, tmp_path):
    tags = {word: tag for tag, some in (("D", DETERMINERS), ("N", NOUNS), ("V", VERBS)) for word in some}
    rows = "".join("".join(f"{w} {tags[w]}\n" for w in words) + "\n" for words in sentences(20, 3))
    (tmp_path / "tags.txt").write_text(rows)
    (tmp_path / "patterns.txt").write_text("U:%vector[0,0,v]\nU:%class[0,0,k]\nB\n")
    for name in ("cca", "sparse", "hmm"):
        clusters = ["embed", "cluster", data / name, "--classes", 4, "--model", tmp_path / "k", "--quiet"]
        assert run([str(part) for part in clusters]) == 0
        fit = ["tag", "fit", tmp_path / "tags.txt", "--patterns", tmp_path / "patterns.txt", "--lam", 0.01]
        fit += [
            "--vectors",
            f"v={data / name}",
            "--classes",
            f"k={tmp_path / 'k'}",
            "--model",
            tmp_path / "m",
        ]
        assert run([str(part) for part in [*fit, "--quiet"]]) == 0
    assert run(["tag", "eval", str(tmp_path / "m"), str(tmp_path / "tags.txt")]) == 0


# ------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--method", "glove"], "--method must be one of cca, tscca"),
        (
            ["--method", "pmi", "--transform", "log"],
            "--transform is a setting of the methods cca, tscca, lrmvl, svd and rescaled, not of pmi",
        ),
        (["--method", "cca", "--lam", 1], "--lam is a setting of the methods sparse and lasso, not of cca"),
        (["--method", "lrmvl", "--positional"], "--positional is a setting of"),
        (["--method", "lrmvl", "--variant", "II", "--window", 3], "--window needs --variant I"),
        (["--method", "lrmvl", "--variant", "I", "--rates", 0.5], "--rates needs --variant II or mean"),
        (
            ["--method", "lrmvl", "--variant", "mean", "--transform", "log"],
            "--transform needs --variant I or II",
        ),
        (["--method", "lrmvl", "--reset", "document", "--format", "conllu"], "no documents in conllu"),
        (["--method", "svd", "--pseudo", 3], "--pseudo is a setting of"),
        (["--method", "hmm", "--dimensions", 3], "--dimensions is a setting of"),
        (["--method", "topics", "--cache", "c"], "--cache is a setting of"),
        (["--stop-words", 3], "--stop-words is a setting of the method topics"),
        (["--min-pair", 3], "--min-pair is a setting of"),
        (["--window", "a"], "--window must be a whole number"),
        (["--window", "1,2,3"], "--window must be one number, or two"),
        (["--window", "0"], "a window needs"),
        (["--weighting", "none"], "--weighting must be flat, harmonic or linear"),
        (["--method", "hmm", "--variant", "II"], "--variant must be full or reduced"),
        (["--method", "lrmvl", "--variant", "II", "--dimensions", 3], "even"),
        (["--method", "lrmvl", "--rates", "x"], "--rates must be a number"),
        (["--method", "sparse", "--dimensions", 5, "--branching", "2"], "5"),
        (["--method", "topics", "--topics", 500, "--stop-words", 0], "500 topics"),
        (["--method", "topics", "--stop-words", 20], "lower --min-count or --stop-words"),
        (["--method", "topics", "--format", "conllu"], "no documents in conllu"),
        (["--min-count", 10000], "no words to learn vectors for"),
        (["--format", "docx"], "docx"),
        (["--on-error", "stop"], "--on-error must be raise or skip"),
    ],
)
def test_options_that_make_no_sense(refused, data, tmp_path, options, expected):
    assert expected in refused("fit", data / "train.txt", "--model", tmp_path / "m", *options)
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_none(refused, data, tmp_path):
    model = tmp_path / "m"
    assert "no such file" in refused("fit", tmp_path / "none.txt", "--model", model).lower()
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "one.txt").write_text("a a a\na a a\n")
    for method in MODELS:
        assert "empty.txt" in refused("fit", tmp_path / "empty.txt", "--method", method, "--model", model)
        assert "one.txt" in refused("fit", tmp_path / "one.txt", "--method", method, "--model", model)
    assert "no such folder" in refused("fit", data / "train.txt", "--model", tmp_path / "no" / "m")
    (tmp_path / "strange.txt").write_text("qux quux\n")
    assert "none of the words" in refused(
        "apply", data / "topics", tmp_path / "strange.txt", "--output", model
    )
    assert "none of the words" in refused("eval", data / "hmm", tmp_path / "strange.txt")
    (tmp_path / "bad.txt").write_bytes(b"the dog\n\xff\xfe\n")
    assert "bad.txt:2" in refused("apply", data / "cca", tmp_path / "bad.txt", "--output", model)
    assert not model.exists()


def test_models_that_are_none(refused, data, tmp_path):
    classes = tmp_path / "classes"
    WordClasses(["a", "b"], [0, 1]).save(classes)
    for verb in (["apply"], ["inspect"], ["export"]):
        rest = [data / "dev.txt"] if verb == ["apply"] else [tmp_path / "out"] if verb == ["export"] else []
        assert "embed" in refused(*verb, classes, *rest)
        assert "not a Spinney model" in refused(*verb, data / "train.txt", *rest)
        assert "no such file" in refused(*verb, tmp_path / "none", *rest)
    assert "no word vectors" in refused("neighbours", classes, "a")
    assert refused("neighbours", data / "train.txt", "a")
    assert not (tmp_path / "out").exists()


def test_words_that_are_unknown(refused, data):
    assert "did you mean dog" in refused("neighbours", data / "cca", "the", "dogg")
    assert "'xyzzy' is not among the 13 words" in refused("neighbours", data / "cca", "xyzzy")


def test_scores_that_cannot_be(refused, data, tmp_path):
    assert "say what to evaluate" in refused("eval", data / "cca")
    assert "held-out text is for the methods hmm and topics" in refused(
        "eval", data / "cca", data / "dev.txt"
    )
    assert "--method must be 3cosadd" in refused(
        "eval", data / "cca", "--analogies", data / "questions.txt", "--method", "add"
    )
    pairs, questions = tmp_path / "pairs.txt", tmp_path / "questions.txt"
    pairs.write_text("ox cow 3\nyak cow 4\n")
    assert "no pair" in refused("eval", data / "cca", "--similarity", pairs)
    pairs.write_text("ox cow\n")
    assert "pairs.txt:1" in refused("eval", data / "cca", "--similarity", pairs)
    questions.write_text("dog cat cat dog\n")
    assert "questions.txt:1: a question before the first section" in refused(
        "eval", data / "cca", "--analogies", questions
    )
    questions.write_text(": a\ndog cat cat\n")
    assert "questions.txt:2: 3 words" in refused("eval", data / "cca", "--analogies", questions)
    questions.write_text(": a\nox cow cow ox\n")
    assert "no question" in refused("eval", data / "cca", "--analogies", questions)
    (tmp_path / "folder").mkdir()
    assert "no files" in refused("eval", data / "cca", "--similarity-folder", tmp_path / "folder")
    assert "no such folder" in refused("eval", data / "cca", "--similarity-folder", tmp_path / "none")
    same = tmp_path / "same.txt"
    same.write_text("1 dog\n1 cat\n")
    assert "same.txt: all training sentences have the same label" in refused(
        "eval", data / "cca", "--sentiment", f"{same},{same},{same}"
    )


def test_other_options_that_make_no_sense(refused, data, tmp_path):
    assert "states: topics give" in refused("apply", data / "topics", data / "docs.txt", "--what", "states")
    assert "cannot be made of 13 words" in refused(
        "cluster", data / "cca", "--classes", 14, "--model", tmp_path / "k"
    )
    assert "JSON and the output" in refused("export", data / "cca", "-", "--json")


def test_vectors_of_lower_case_are_found_for_capitals(facts, tmp_path):
    (tmp_path / "t.txt").write_text(lines([[w.capitalize() for w in s] for s in sentences(80, 1)]))
    for method in (["cca", "--dimensions", 3], ["hmm", "--states", 3]):
        facts("fit", tmp_path / "t.txt", "--lowercase", "--method", *method, "--model", tmp_path / "m")
        assert list(facts("neighbours", tmp_path / "m", "DOG")["neighbours"]) == ["dog"]
        found = facts("apply", tmp_path / "m", tmp_path / "t.txt", "--what", "states")
        assert found["sentences"][0]["words"][0].islower()


@pytest.mark.parametrize("name", ["cca", "sparse", "hmm", "topics"])
def test_models_are_read_and_written_again(data, tmp_path, name):
    model = load_model(str(data / name))
    model.save(tmp_path / "again")
    assert repr(load_model(str(tmp_path / "again")).vectors()) == repr(model.vectors())


def test_counts_read_as_text_are_told(tmp_path, spinney):
    grams, sentences = tmp_path / "grams.txt", tmp_path / "text.txt"
    grams.write_text("".join(f"a w{i % 7} w{i % 5}\t{i}\n" for i in range(1, 60)))
    sentences.write_text("".join(f"a w{i % 7} w{i % 5} is {i % 3}\n" for i in range(1, 60)))
    how = ("--dimensions", 2, "--min-count", 1, "--model", tmp_path / "model.spinney")
    assert "grams.txt seems to hold n-grams" in (told := spinney("fit", grams, *how)[2])
    assert "give --ngrams" in told
    assert "seems to" not in spinney("fit", sentences, *how)[2]
    assert "seems to" not in spinney("fit", grams, "--ngrams", "--window", 1, *how)[2]
