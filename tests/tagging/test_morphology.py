"""The morphological tagger: lattices by enumeration, gradients by finite differences, files, the command line."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spinney
from spinney.cli.main import run
from spinney.corpus.conllu import Sentence, read_conllu, write_conllu
from spinney.errors import InputError, ModelFileError, SettingError
from spinney.files import read_model, write_model
from spinney.optim import ElasticNet, solve
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.morphology import MorphTagger, lattices, training
from spinney.tagging.morphology import _lattice_kernels as kernels
from spinney.tagging.morphology.explaining import explanations
from spinney.tagging.morphology.labels import Labels
from spinney.tagging.morphology.observations import Observer
from spinney.tagging.morphology.training import Treebank, offsets_of
from spinney.tagging.morphology.weights import Weights

NOUNS = {"dog": "Sing", "dogs": "Plur", "cat": "Sing", "cats": "Plur", "Anna": "Sing"}
VERBS = {"sees": "Sing", "see": "Plur", "hears": "Sing", "hear": "Plur"}


def _sentence(subject, verb, thing):
    number = NOUNS[subject]
    return Sentence(
        [subject, verb, "the", thing, "."],
        lemmas=[subject.rstrip("s"), verb.rstrip("s"), "the", thing.rstrip("s"), "."],
        upos=["NOUN", "VERB", "DET", "NOUN", "PUNCT"],
        xpos=["N", "V", "D", "N", "."],
        feats=[
            f"Case=Nom|Number={number}",
            f"Number={VERBS[verb]}",
            "_",
            f"Case=Acc|Number={NOUNS[thing]}",
            "_",
        ],
        heads=[2, 0, 4, 2, 2],
        comments=["# text = something"],
    )


TEXT = [
    _sentence(a, v, b)
    for a, v, b in itertools.product(NOUNS, VERBS, NOUNS)
    if NOUNS[a] == VERBS[v] and (len(a) + len(v) + len(b)) % 3
]


@pytest.fixture(scope="module")
def tagger():
    return MorphTagger.train(TEXT, l1=0.05, l2=0.01, passes=8)


def _problem(text=TEXT[:6], min_count=1):
    forms = [sentence.forms for sentence in text]
    tags = [list(zip(s.upos, s.xpos, s.feats)) for s in text]
    labels = Labels.of(label for one in tags for label in one)
    observer = Observer.learn(forms, min_count)
    gold = np.array([labels.number[label] for one in tags for label in one], np.int32)
    data = Treebank(offsets_of(forms), observer.observe(forms), gold)
    return data, labels, Weights.zeros(data.seen, gold, labels, observer.is_beside)


# ------------------------------------------------------------------------------------------ lattices


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_forward_backward_is_the_sum_over_all_paths(seed, counts):
    rng = np.random.default_rng(seed)
    n = len(counts)
    count = np.array([*counts, 1])
    score, pairs = rng.normal(size=(n + 1, 3)), rng.normal(size=(n + 1, 3, 3))
    score[n] = 0.0
    total, singles, doubles = 0.0, np.zeros((n, 3)), np.zeros((n + 1, 3, 3))
    for path in itertools.product(*map(range, counts)):
        whole = [*path, 0]
        value = sum(score[t, b] for t, b in enumerate(path))
        value += sum(pairs[t, whole[t - 1] if t else 0, whole[t]] for t in range(n + 1))
        total += np.exp(value)
        for t in range(n + 1):
            doubles[t, whole[t - 1] if t else 0, whole[t]] += np.exp(value)
        for t, b in enumerate(path):
            singles[t, b] += np.exp(value)
    M, mu = pairs.copy(), np.zeros((n + 1, 3))
    log_z = kernels.forward_backward(n, count, score, M, np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), mu)
    assert np.isclose(log_z, np.log(total))
    for t in range(n):
        np.testing.assert_allclose(mu[t, : counts[t]], singles[t, : counts[t]] / total, atol=1e-12)
    for t in range(n + 1):
        a = counts[t - 1] if t else 1
        np.testing.assert_allclose(M[t, :a, : count[t]], doubles[t, :a, : count[t]] / total, atol=1e-12)


def test_scores_are_sums_over_parts_and_transitions_over_facets():
    """log p of a labelling, written out in words, for all labellings of a sentence of three words."""
    data, labels, weights = _problem()
    rng = np.random.default_rng(3)
    weights.w[:] = rng.normal(size=len(weights.w)) / 5
    weights.transitions[:] = rng.normal(size=len(weights.transitions)) / 5
    facets = labels.facets
    n, Y = 3, len(labels)

    def score(path):
        value = 0.0
        for t, y in enumerate(path):
            for e in range(data.seen.ptr[t], data.seen.ptr[t + 1]):
                o = data.seen.ids[e]
                for j in range(weights.ptr[o], weights.ptr[o + 1]):
                    if weights.parts[j] in labels.part_ids[labels.part_ptr[y] : labels.part_ptr[y + 1]]:
                        value += weights.w[j]
        for before, here in itertools.pairwise([None, *path, None]):
            for j, values in enumerate(facets.values):
                size = len(values) + 1
                a = size - 1 if before is None else facets.of_label[before, j]
                b = size - 1 if here is None else facets.of_label[here, j]
                value += weights.transitions[facets.offsets[j] : facets.offsets[j + 1]].reshape(size, size)[
                    a, b
                ]
        return value

    assert Y <= lattices.CANDIDATES
    every = {path: np.exp(score(path)) for path in itertools.product(range(Y), repeat=n)}
    total = sum(every.values())
    ends = int(data.seen.ptr[n])
    seen = type(data.seen)(data.seen.ptr[: n + 1], data.seen.ids[:ends], data.seen.values[:ends])
    found = lattices.marginals(np.array([0, n]), seen, labels, weights, margin=np.inf)
    for t in range(n):
        truth = [sum(p for path, p in every.items() if path[t] == y) / total for y in range(Y)]
        assert found.counts[t] == Y
        got = dict(zip(found.labels[t, :Y].tolist(), found.probabilities[t]))
        np.testing.assert_allclose([got[y] for y in range(Y)], truth, atol=1e-10)


@pytest.mark.parametrize("chained", [True, False])
def test_the_gradient_is_that_of_the_loss(chained, monkeypatch):
    monkeypatch.setattr(training, "MARGIN", np.inf)
    data, labels, weights = _problem()
    assert len(labels) <= lattices.CANDIDATES
    rng = np.random.default_rng(0)
    weights.w[:] = rng.normal(size=len(weights.w)) / 10
    weights.transitions[:] = rng.normal(size=len(weights.transitions)) / 10
    _, *gradients = training.loss_and_gradient(data, labels, weights, chained=chained)
    step = 1e-5
    for vector, gradient in zip((weights.w, weights.transitions), gradients):
        for j in rng.choice(len(vector), 40, replace=False):
            kept, values = vector[j], []
            for moved in (step, -step):
                vector[j] = kept + moved
                values.append(training.loss_and_gradient(data, labels, weights, chained=chained)[0])
            vector[j] = kept
            # Labels below NEGLIGIBLE are left out of the gradient of tokens by themselves.
            tolerance = 1e-6 if chained else 1e-6 + 60 * kernels.NEGLIGIBLE
            assert abs(gradient[j] - (values[0] - values[1]) / (2 * step)) < tolerance


def test_training_approaches_the_optimum(monkeypatch):
    """Dual averaging against a deterministic solver of the same convex problem."""
    monkeypatch.setattr(training, "MARGIN", np.inf)
    data, labels, weights = _problem(TEXT[:4])
    l1, l2 = 0.1, 0.05

    class Loss:
        n_free = 0
        n_params = len(weights.w) + len(weights.transitions)

        def value_and_grad(self, w):
            at = Weights(weights.ptr, weights.parts, w[: len(weights.w)].copy(), w[len(weights.w) :].copy())
            loss, *gradients = training.loss_and_gradient(data, labels, at)
            return loss, np.concatenate(gradients)

    best = solve(Loss(), ElasticNet(l1, l2), tol=1e-4, max_iter=2000).objective
    found = training.train(data, labels, weights, l1=l1, l2=l2, passes=400, alone=0)
    assert best - 1e-6 < found.objective < 1.05 * best
    assert 0 < found.violation < 1


def test_the_candidates_are_the_best_labels_and_the_true_one():
    scores = np.array([0.0, 3.0, -9.0, 2.0, 2.5])
    chosen, score = np.zeros(3, np.int32), np.zeros(3)
    assert kernels.best_candidates(scores, 1.5, -1, chosen, score) == 3
    assert chosen.tolist() == [1, 4, 3]
    assert kernels.best_candidates(scores, 0.6, -1, chosen, score) == 2
    assert kernels.best_candidates(scores, 1.5, 2, chosen, score) == 3
    assert (chosen.tolist(), score.tolist()) == ([1, 4, 2], [3.0, 2.5, -9.0])


# ------------------------------------------------------------------------------------------ the tagger


def test_it_learns_and_generalises(tagger):
    found = tagger.tag([["dogs", "hear", "the", "cat", "."], ["birds", "see", "Anna"], []])
    assert found[0] == [
        ("NOUN", "N", "Case=Nom|Number=Plur"),
        ("VERB", "V", "Number=Plur"),
        ("DET", "D", "_"),
        ("NOUN", "N", "Case=Acc|Number=Sing"),
        ("PUNCT", ".", "_"),
    ]
    assert found[1][0] == ("NOUN", "N", "Case=Nom|Number=Plur")
    assert found[2] == []


def test_tagging_in_batches_is_tagging_one_by_one(tagger):
    forms = [sentence.forms for sentence in TEXT] * 3
    together = tagger.tag(forms)
    assert together == [tagger.tag([one])[0] for one in forms]


def test_the_same_seed_gives_the_same_model(tagger):
    again = MorphTagger.train(TEXT, l1=0.05, l2=0.01, passes=8)
    np.testing.assert_array_equal(again.weights.w, tagger.weights.w)
    np.testing.assert_array_equal(again.weights.transitions, tagger.weights.transitions)


def test_empty_columns_are_learned_as_empty():
    bare = [Sentence(s.forms, upos=s.upos) for s in TEXT]
    model = MorphTagger.train(bare, passes=3)
    assert {tag[1:] for one in model.tag([TEXT[0].forms]) for tag in one} == {("_", "_")}
    nothing = MorphTagger.train([Sentence(s.forms) for s in TEXT], passes=2)
    assert nothing.tag([["a", "b"]]) == [[("_", "_", "_")] * 2]


def test_hard_sentences(tagger):
    long = ["the", "dog"] * 250
    odd = ["10 000", "کتاب", "שלום", "\u200d", "👩‍👩‍👧", "A" * 1000, "İ"]
    found = tagger.tag([long, odd])
    assert [len(one) for one in found] == [500, 7]
    assert len(MorphTagger.train([*TEXT, Sentence(odd), Sentence(long)], passes=3).tag([odd])[0]) == 7


def test_no_words():
    with pytest.raises(InputError, match="no words"):
        MorphTagger.train([])


def test_classes_and_vectors_are_seen_and_kept(tmp_path):
    classes = WordClasses(["dog", "wolf", "sees"], [0, 0, 1], paths=["00101", "1"])
    vectors = WordVectors(["dog", "wolf", "sees"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    model = MorphTagger.train(TEXT, classes=[{"b": classes}], vectors=[{"v": vectors}], l1=0.01, passes=4)
    assert any(name.startswith("b=") for name in model.observer.number)
    assert any(name.startswith("v:") for name in model.observer.number)
    model.save(tmp_path / "m.spinney")
    again = spinney.load(tmp_path / "m.spinney")
    assert again.tag([["wolf", "sees"]]) == model.tag([["wolf", "sees"]])
    assert list(again.observer.classes) == ["b"]


def test_an_interrupt_keeps_what_was_learned(monkeypatch):
    passes = iter(range(100))
    once = kernels.train_pass

    def interrupted(*args):
        if next(passes) == 3:
            raise KeyboardInterrupt
        return once(*args)

    monkeypatch.setattr(kernels, "train_pass", interrupted)
    model = MorphTagger.train(TEXT, passes=9)
    assert model.facts["interrupted"]
    assert model.facts["iterations"] == 3
    assert model.tag([["the"]])[0][0][0] == "DET"


# ------------------------------------------------------------------------------------------ files


def test_a_model_is_the_same_after_a_round_trip(tagger, tmp_path):
    tagger.save(tmp_path / "m.spinney")
    again = spinney.load(tmp_path / "m.spinney")
    assert isinstance(again, MorphTagger)
    assert again.settings == tagger.settings
    assert again.labels.all == tagger.labels.all
    assert again.words == tagger.words
    forms = [sentence.forms for sentence in TEXT]
    a, b = tagger.marginals(forms), again.marginals(forms)
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_allclose(a.probabilities, b.probabilities, atol=1e-12)


def test_damaged_files_are_refused(tagger, tmp_path):
    header, tensors, strings, parts = tagger.contents()
    path = tmp_path / "bad.spinney"
    wrong = [
        (header, {**tensors, "lengths": tensors["lengths"].astype(np.float32)}, strings),
        (header, {**tensors, "weights": np.full_like(tensors["weights"], np.nan)}, strings),
        (header, {name: t for name, t in tensors.items() if name != "parts"}, strings),
        (header, tensors, {**strings, "upos": strings["upos"][:-1]}),
        (header, tensors, {**strings, "upos": [], "xpos": [], "feats": []}),
        (header, tensors, {**strings, "observations": ["x"] * len(strings["observations"])}),
        ({**header, "structures": {}}, tensors, strings),
        ({**header, "structures": {"classes": ["b"], "vectors": []}}, tensors, strings),
        ({**header, "facts": 3}, tensors, strings),
    ]
    for name, tensor in tensors.items():
        wrong += [(header, {**tensors, name: tensor[:-1]}, strings)]
        if tensor.dtype.kind == "u":
            wrong += [
                (header, {**tensors, name: np.full(len(tensor), bad)}, strings)
                for bad in (-1, 60_000, 1 << 40)
            ]
    for of_header, of_tensors, of_strings in wrong:
        write_model(path, tagger.kind, of_header, of_tensors, of_strings, parts)
        with pytest.raises(ModelFileError, match="damaged"):
            MorphTagger.from_file(read_model(path))


# ------------------------------------------------------------------------------------------ views, apply, eval


def test_views_say_it_in_words(tagger):
    views = tagger.views()
    strongest = next(view.value for view in views if view.key == "strongest")
    assert "dogs" in {name for name, _ in strongest["Number=Plur"]} | {name for name, _ in strongest["NOUN"]}
    assert not any(name.startswith("s1=") for seen in strongest.values() for name, _ in seen)
    assert tagger.summary()[0].values["labels"] == len(tagger.labels)


def test_apply_keeps_everything_else(tagger):
    untagged = Sentence(
        ["cats", "sees"],
        comments=["# x"],
        misc=["SpaceAfter=No", "_"],
        extras=[(0, "1-2\tcatsees" + "\t_" * 8)],
    )
    record = next(iter(tagger.apply([untagged])))
    lines = record["conllu"].split("\n")
    assert lines[:2] == ["# x", untagged.extras[0][1]]
    assert lines[2].split("\t")[3:6] == ["NOUN", "N", "Case=Nom|Number=Plur"]
    assert lines[2].endswith("SpaceAfter=No")


def test_evaluate_knows_the_columns(tagger):
    values = tagger.evaluate(TEXT)[0].values
    assert values["upos"] == values["ufeats"] == values["alltags"] == 1.0
    assert values["unknown_words"] == 0
    assert values["unknown_upos"] is None
    with pytest.raises(InputError, match="no sentences"):
        tagger.evaluate([Sentence([])])


@pytest.mark.parametrize("given", [{"proba": True}, {"nbest": 2}, {"scheme": "iob2"}, {"format": "letters"}])
def test_what_only_other_taggers_do_is_refused(tagger, given, tmp_path):
    (tmp_path / "x").write_text("a\n")
    with pytest.raises(SettingError):
        list(tagger.apply(str(tmp_path / "x"), **given))


def test_explanations_add_up(tagger):
    found = explanations(tagger, [TEXT[0].forms, ["dogs"], []])
    assert [len(one) for one in found] == [5, 1, 0]
    assert sum(one.rival != "" for one in found[0]) > 2
    for one in (one for one in found[0] if one.rival):
        assert np.isclose(sum(value for _, value in one.contributions), one.ahead)
        assert one.ahead > 0
    assert tagger.explain(TEXT, documents=2, top=3)[-1].value[1][0]["word"] == TEXT[1].forms[0]
    with pytest.raises(InputError, match="no sentences"):
        tagger.explain([])


def test_its_page(tagger):
    assert [view.title for view in tagger.report_views(TEXT) if view.title]
    assert tagger.report_views()


def test_by_command(tmp_path, capsys):
    train, plain, model = tmp_path / "t.conllu", tmp_path / "p.txt", str(tmp_path / "m.spinney")
    write_conllu(train, TEXT)
    plain.write_text("dogs see the cat .\n\n")
    fit = ["tag", "fit", str(train), "--method", "morph", "--passes", "4", "--model", model]
    assert run([*fit, "--dev", str(train), "--quiet", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [l1 for l1, _ in facts["tried"]] == [0.1, 0.2, 0.4]
    assert run([*fit, "--dev", str(train), "--l1", "1"]) == 2
    assert "--l1 and --dev" in capsys.readouterr().err
    assert run([*fit, "--l1", "0.05", "--quiet"]) == 0
    capsys.readouterr()
    assert facts["sentences"] == len(TEXT)
    assert facts["active"] > 0
    assert run(["tag", "eval", model, str(train), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["upos"] == 1.0
    assert run(["tag", "apply", model, str(train), "--output", str(tmp_path / "o.conllu")]) == 0
    assert [s.feats for s in read_conllu(tmp_path / "o.conllu")] == [s.feats for s in TEXT]
    assert run(["tag", "apply", model, str(plain), "--format", "lines"]) == 0
    assert "\tdogs\t_\tNOUN\tN\tCase=Nom|Number=Plur\t" in capsys.readouterr().out
    assert run(["tag", "inspect", model]) == 0
    assert "Number=Plur" in capsys.readouterr().out
    assert run(["tag", "explain", model, str(train), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["explained"]
    assert (
        run(["report", model, "--data", str(train), "--output", str(tmp_path / "page.html"), "--quiet"]) == 0
    )
    capsys.readouterr()
    assert run(["tag", "export", model, str(tmp_path / "c")]) == 2
    assert "tagging/MorphTagger" in capsys.readouterr().err
    assert run(["tag", "fit", str(plain), "--method", "morph", "--model", model]) == 2
    assert "p.txt" in capsys.readouterr().err
    assert run([*fit, "--classes", "brown", "--quiet"]) == 2
    assert "NAME=FILE" in capsys.readouterr().err
