"""Word classes against human judgements: which words of a vocabulary stand for those of a data set."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from spinney.classes import fit
from spinney.classes.plots import plot
from spinney.corpus import sentence_arrays
from spinney.errors import InputError, OptionError, SettingError
from spinney.evaluate import (
    bless_boxes,
    composition_correlation,
    cross_pos,
    deviance_scores,
    read_bless,
    read_comparisons,
    read_deviance,
)
from spinney.views import Note, Outline

TEXT = [
    ["the|DET", f"{noun}|NOUN", f"{verb}|VERB", f"{other}|NOUN"]
    for noun in ("fan", "dog", "walk")
    for verb in ("buy", "sell", "walk")
    for other in ("ticket", "bone")
] * 3


@pytest.fixture(scope="module")
def model():
    return fit(TEXT, method="hmm", classes=3, passes=1, threads=1)


def _found(model, **settings):
    return {view.key: view.data() for view in model.evaluate(None, **settings) if view.key}


def test_categories_are_of_one_part_of_speech(model, tmp_path):
    """The most frequent "walk" is a verb here, "fan" is no verb at all; the set decides."""
    verbs, nouns = tmp_path / "verbs.csv", tmp_path / "nouns.csv"
    verbs.write_text("word,category\nbuy,trade\nsell,trade\nwalk,move\nfan,move\n")
    nouns.write_text("word,category\nfan,person\ndog,animal\nwalk,move\nticket,thing\nbuy,thing\n")
    found = _found(model, categories=(str(verbs), str(nouns)))["categories"]
    assert (found[str(verbs)]["pos"], found[str(verbs)]["missing"]) == ("verb", ["fan"])
    assert (found[str(nouns)]["pos"], found[str(nouns)]["missing"]) == ("noun", ["buy"])
    any_one = _found(model, categories=(str(nouns),), pos="any")["categories"][str(nouns)]
    assert (any_one["pos"], any_one["missing"]) == (None, [])
    as_verbs = _found(model, categories=(str(nouns),), pos="verb")["categories"][str(nouns)]
    assert as_verbs["missing"] == ["fan", "dog", "ticket"]


def test_second_subjects_are_dropped_unless_asked_for(model, tmp_path):
    """ELLDIS has each comparison of Grefenstette and Sadrzadeh with two second subjects; unknown ones do no harm."""
    file = tmp_path / "elldis.txt"
    rows = ["participant\tsent1\tsent2\tscore"]
    for other in ("dog", "stranger"):
        for verb, score in (("sell", 5), ("walk", 2)):
            rows.append(
                f"p\tfan buy ticket and {other} does too\tfan {verb} ticket and {other} does too\t{score}"
            )
    file.write_text("\n".join(rows) + "\n")
    for keep, items, n in ((False, 2, 2), (True, 4, 2)):
        found = _found(model, composition=(str(file),), second_subjects=keep)["composition"][str(file)]
        assert found["second"] == "bare"
        assert (found["t-mult"]["items"], found["t-mult"]["n"]) == (items, n)


def test_a_word_is_found_by_its_part_of_speech(model):
    """As what it is most often (the order of the vocabulary), and what else it is said."""
    vocabulary = model.vocabulary
    first, second = sorted(("walk|NOUN", "walk|VERB"), key=vocabulary.words.index)
    views = model.neighbours("Walk", top=1)
    assert views[0].data()["word"] == first
    assert [view.text for view in views if isinstance(view, Note)] == [f"Walk is also known as {second}"]
    shown = {view.key: view.data() for view in model.views(word="ticket") if view.key}
    assert shown["word"]["word"] == "ticket|NOUN"
    assert not [view for view in model.views(word="ticket") if isinstance(view, Note)]
    with pytest.raises(InputError, match=r"'tickle' is not among .*did you mean ticket"):
        model.neighbours("tickle")


def test_a_map_finds_words_by_their_part_of_speech(model, tmp_path):
    plot(model, str(tmp_path / "map.tsv"), words=("fan", "sell", "Bone"))
    places = (tmp_path / "map.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in places] == ["fan|NOUN", "sell|VERB", "bone|NOUN"]


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A tree model whose subjects, objects and adjectives have transitions of their own."""
    rows, rng = [], np.random.default_rng(0)
    words = (["old", "new"], ["fan", "dog"], ["buy", "sell", "eat"], ["ticket", "bone"])
    for i in range(60):
        adjective, noun, verb, other = (str(rng.choice(some)) for some in words)
        tree = [(adjective, "ADJ", 2, "amod"), (noun, "NOUN", 3, "nsubj"), (verb, "VERB", 0, "root")]
        tree.append((other, "NOUN", 3, "obj" if i % 2 else "dobj"))
        rows += [
            f"{k}\t{word}\t{word}\t{pos}\t_\t_\t{head}\t{relation}\t_\t_"
            for k, (word, pos, head, relation) in enumerate(tree, 1)
        ]
        rows.append("")
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    path.write_text("\n".join(rows) + "\n")
    groups = {"subject": ["nsubj"], "object": ["obj", "dobj"], "amod": ["amod"]}
    return fit(
        str(path), method="hmm", tree=True, words="lemma+upos", classes=4, passes=2, threads=1,
        min_count=1, relation_groups=groups, init="random",
    )  # fmt: skip


def test_transitions_of_relations(typed):
    """One kind alone is as the model has it; several are mixed as a parent has children of them."""
    kinds = list(typed.relations_)
    laws, tau = typed.transition_, typed.statistics_.tau
    subject, obj = kinds.index("subject"), kinds.index("object")
    np.testing.assert_array_equal(typed.head_transitions("nsubj"), laws[subject])
    np.testing.assert_array_equal(typed.head_transitions("object"), laws[obj])
    np.testing.assert_array_equal(typed.head_transitions("acl"), laws[0])
    np.testing.assert_array_equal(typed.head_transitions("acl", "amod"), laws[kinds.index("amod")])
    np.testing.assert_array_equal(typed.head_transitions(), typed.shared_transition_)
    both = typed.head_transitions("nsubj", "obj", "dobj")
    for parent in range(4):
        weight = [tau[kind, :, parent].sum() for kind in (subject, obj)]
        mixed = (weight[0] * laws[subject][:, parent] + weight[1] * laws[obj][:, parent]) / sum(weight)
        np.testing.assert_allclose(both[:, parent], mixed, atol=1e-12)


def test_inspect_shows_the_transitions_of_a_relation(typed, model):
    shown = {view.key: view.data() for view in typed.views(relation="dobj") if view.key}
    matrix = typed.transition_[list(typed.relations_).index("object")]
    for parent, below in shown["transitions"].items():
        assert [p for _, p in below] == sorted(matrix[:, int(parent)], reverse=True)[:3]
        assert all(p == matrix[child, int(parent)] for child, p in below)
    shares = {view.key: view.data() for view in typed.views() if view.key}["relations"]
    assert list(shares) == ["other", "subject", "object", "amod"]
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["subject"] == pytest.approx(1 / 3, abs=1e-3)
    with pytest.raises(OptionError, match=r"relation must be .*, not 'nsub' \(did you mean nsubj"):
        typed.views(relation="nsub")
    with pytest.raises(OptionError, match="one matrix of transitions for all relations"):
        model.views(relation="nsubj")


def test_evaluations_take_the_transitions_of_relations(typed, tmp_path):
    phrases, bless, judged = (tmp_path / name for name in ("ml.txt", "bless.txt", "an.txt"))
    phrases.write_text(
        "p1 adjectivenouns 1 old fan new dog 4\np1 adjectivenouns 1 old bone new ticket 2\n"
        "p1 verbobjects 1 bone eat ticket buy 3\np1 verbobjects 1 ticket buy bone sell 5\n"
    )
    bless.write_text(
        "".join(
            f"{noun}-n\tx\t{relation}\n"
            for noun in ("fan", "dog")
            for relation in ("attri\told-j", "event\teat-v", "random-n\tbone-n", "random-v\tsell-v")
        )
    )
    judged.write_text("old fan acceptable\nnew dog acceptable\nold ticket deviant\nnew bone deviant\n")
    files = {"composition": (str(phrases),), "bless": str(bless), "deviance": (str(judged),)}
    found = _found(typed, **files)
    vectors, pairs = typed.comparable_vectors(), read_comparisons(phrases)
    names = {"amod": ("amod",), "obj": ("obj", "dobj"), "nsubj": ("nsubj",)}
    own = {name: typed.head_transitions(*known) for name, known in names.items()}
    of_file = found["composition"][str(phrases)]
    assert list(of_file) == ["adjective-noun", "verb-object"]
    expected = composition_correlation(vectors, pairs[2:], own, "t-add")
    assert of_file["verb-object"]["t-add"] == pytest.approx(expected)
    shared = composition_correlation(vectors, pairs[2:], typed.transitions(), "t-add")
    assert of_file["verb-object"]["t-add, shared"] == pytest.approx(shared)
    moves = cross_pos(own["amod"], verbs=typed.head_transitions("nsubj", "obj", "dobj"))
    boxes = bless_boxes(vectors, read_bless(bless), transform=moves)
    assert found["bless"]["by relation"]["quartiles"] == boxes["quartiles"]
    assert boxes["quartiles"] != found["bless"]["transformed"]["quartiles"]
    test = deviance_scores(vectors, read_deviance(judged), own["amod"])
    assert found["deviance"][str(judged)] == pytest.approx(test)
    chain = fit([[*s, "old|ADJ", "eat|VERB"] for s in TEXT], method="hmm", classes=3, threads=1)
    assert "by relation" not in _found(chain, bless=str(bless))["bless"]


def test_deviance_needs_hidden_classes(tmp_path):
    clusters = fit(TEXT, method="brown", classes=3)
    with pytest.raises(SettingError, match="fit with the method hmm"):
        clusters.evaluate(None, deviance=(str(tmp_path / "an.txt"),))


def test_clusters_confusions_and_dendrogram(typed, tmp_path):
    file = tmp_path / "kinds.csv"
    file.write_text("word,category\nfan,animate\ndog,animate\nticket,thing\nbone,thing\nunicorn,animate\n")
    rows = typed.comparable_vectors().rows([f"{word}|NOUN" for word in ("fan", "dog", "ticket", "bone")])
    roots = np.sqrt(rows / rows.sum(axis=1, keepdims=True))
    apart = [((a - b) ** 2).sum() for i, a in enumerate(roots) for b in roots[i + 1 :]]
    for how in ("complete", "average", "single"):
        views = typed.evaluate(None, categories=(str(file),), clusters=True, linkage=how)
        found = {view.key: view.data() for view in views if view.key}["categories"][str(file)]
        np.testing.assert_allclose(found["dendrogram"], linkage(apart, how), atol=1e-6)
        assert [word for word, _, _ in found["assigned"]] == ["fan", "dog", "ticket", "bone"]
        counts = [
            [
                sum(one == (kind, cluster) for one in ((k, c) for _, k, c in found["assigned"]))
                for kind in ("animate", "thing")
            ]
            for cluster in range(2)
        ]
        assert found["confusion"] == {"categories": ["animate", "thing"], "counts": counts}
        (tree,) = [view for view in views if isinstance(view, Outline)]
        (root,) = tree.roots
        assert root.size == 4
        assert root.note == f"{found['dendrogram'][-1][2]:.3g}"
        (table,) = [view for view in views if view.title.startswith("Clusters and categories")]
        for row, (animate, thing) in zip(table.rows, counts):
            told = {name: n for name, n in (("animate", animate), ("thing", thing)) if n}
            assert dict(pair.split() for pair in row[1].split(", ")) == {k: str(n) for k, n in told.items()}
    assert not [v for v in typed.evaluate(None, categories=(str(file),)) if isinstance(v, Outline)]


def test_tokens_in_context_stand_beside_words(model, tmp_path):
    """Each token where its own posterior puts it; a word out of context as without tokens, up to turns of the map."""
    sentences = [TEXT[0], TEXT[-1], ["the|DET", "walk|NOUN", "sell|VERB", "walk|NOUN"]]
    chosen = {"words": ("fan", "buy", "bone"), "context": sentences, "tokens": ("walk|NOUN", "sell")}
    facts, table = plot(model, str(tmp_path / "map.tsv"), top=2, **chosen)
    vocabulary = model.vocabulary
    arrays = sentence_arrays(sentences, vocabulary=vocabulary)
    places = [
        i
        for word in ("walk|NOUN", "sell|VERB")
        for i in np.flatnonzero(arrays.ids == vocabulary.encode([word])[0])[:2].tolist()
    ]
    rows = model.comparable_vectors().rows(["fan|NOUN", "buy|VERB", "bone|NOUN"])
    expected = np.sqrt(np.vstack([rows, model.posteriors(arrays)[sorted(places)]]))
    got = np.array([place for _, *place in facts.data()["map"]])
    gram = expected - expected.mean(axis=0)
    left, sizes, _ = np.linalg.svd(gram, full_matrices=False)
    best = (left[:, :2] * sizes[:2]) @ (left[:, :2] * sizes[:2]).T
    np.testing.assert_allclose(got @ got.T, best, atol=1e-5)
    lines = (tmp_path / "map.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines][:3] == ["fan|NOUN", "buy|VERB", "bone|NOUN"]
    assert len(lines) == 3 + len(places)
    assert any(row[1] == "the|DET [walk|NOUN] sell|VERB walk|NOUN" for row in table.rows)
    with pytest.raises(InputError, match=r"'dog\|NOUN' does not occur in the text"):
        plot(model, "map.tsv", words=("fan", "buy", "bone"), context=[["walk|NOUN"]], tokens=("dog",))
    with pytest.raises(SettingError, match="give context and tokens"):
        plot(model, "map.tsv", tokens=("dog",))
    with pytest.raises(OptionError, match="one class for each word"):
        plot(fit(TEXT, classes=3), "map.tsv", context=TEXT, tokens=("dog",))


def test_a_dendrogram_is_drawn(model, tmp_path):
    pytest.importorskip("matplotlib")
    (facts,) = plot(model, str(tmp_path / "d.svg"), what="dendrogram", words=("fan", "buy", "bone", "dog"))
    assert sorted(facts.data()["words"]) == ["bone|NOUN", "buy|VERB", "dog|NOUN", "fan|NOUN"]
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")
    with pytest.raises(SettingError, match="at least three words"):
        plot(model, str(tmp_path / "d.svg"), what="dendrogram", words=("fan", "buy"))
