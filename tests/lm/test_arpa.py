"""ARPA files: there and back, against KenLM, and every way in which one can be wrong."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Vocabulary, sample_sentences, sentence_arrays
from spinney.errors import InputError
from spinney.lm.arpa import read_arpa, write_arpa
from spinney.lm.model import load_language_model
from spinney.lm.smoothing import fit_ngram

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")

METHODS = [
    ("modified-kneser-ney", {}),
    ("kneser-ney", {}),
    ("kneser-ney", {"backoff": True}),
    ("absolute", {}),
    ("witten-bell", {}),
    ("jelinek-mercer", {}),
    ("katz", {}),
    ("katz", {"tau": 1}),
]


@pytest.fixture(scope="module")
def sentences():
    return list(sample_sentences())


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize("order", [1, 4])
def test_there_and_back(tmp_path, sentences, method, options, order):
    text = sentence_arrays(sentences, min_count=2, unknown="<unk>")
    model = fit_ngram(text, method, order=order, **options)
    path, second = tmp_path / "a.arpa", tmp_path / "b.arpa"
    write_arpa(model, path)
    again = read_arpa(path)
    assert again.vocabulary.words == model.vocabulary.words
    assert again.vocabulary.unknown == "<unk>"
    assert again.table.is_sound()
    assert again.table.n_grams == model.table.n_grams
    stream = model.stream(sentences)
    np.testing.assert_allclose(
        again.event_logprobs(stream), model.event_logprobs(stream), rtol=3e-8, atol=3e-8
    )
    for words in ([], ["the"], ["of", "the"], ["nowhere"]):
        for start in (True, False):
            history = model.history(words, start=start)
            np.testing.assert_allclose(again.distribution(history), model.distribution(history), rtol=3e-7)
    write_arpa(again, second)
    assert second.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_kenlm_reads_the_same_probabilities(tmp_path, sentences, method, options):
    kenlm = pytest.importorskip("kenlm")
    model = fit_ngram(sentence_arrays(sentences, min_count=2, unknown="<unk>"), method, order=4, **options)
    path = tmp_path / "a.arpa"
    write_arpa(model, path)
    peer = kenlm.Model(os.fspath(path))
    assert peer.order == 4
    other = [[*a[::-1], "nowhere", *b[3:]] for a, b in pairwise(sentences[:40])]
    for words in [*sentences[:100], *other]:
        values = [score for score, *_ in peer.full_scores(" ".join(words))]
        np.testing.assert_allclose(model.logprob(words) / np.log(10), values, atol=1e-5, rtol=0)
        assert peer.score(" ".join(words)) == pytest.approx(model.score(words), abs=1e-5 * (len(words) + 1))


def test_compressed(tmp_path):
    model = fit_ngram(sentence_arrays([["a", "b"]], unknown="<unk>"), "witten-bell", order=2)
    for name in ("m.arpa", "m.arpa.gz", "m.arpa.xz"):
        write_arpa(model, tmp_path / name)
        assert read_arpa(tmp_path / name).table.n_grams == model.table.n_grams
    assert (tmp_path / "m.arpa.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_the_unknown_symbol_gets_its_usual_name(tmp_path):
    path = tmp_path / "a.arpa"
    write_arpa(fit_ngram(sentence_arrays([["a"]], unknown="?"), "witten-bell", order=1), path)
    assert read_arpa(path).vocabulary.unknown == "<unk>"
    # Unless the text has it as a word.
    write_arpa(fit_ngram(sentence_arrays([["a", "<unk>"]], unknown="?"), "witten-bell", order=1), path)
    assert read_arpa(path, unknown="?").vocabulary.words == ("?", "a", "<unk>")
    # A closed vocabulary has none.
    write_arpa(fit_ngram(sentence_arrays([["a"]]), "witten-bell", order=1), path)
    model = read_arpa(path)
    assert model.vocabulary.unknown is None
    assert model.logprob(["b"])[0] == -np.inf


def test_words_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="white space"):
        write_arpa(fit_ngram(sentence_arrays([["a b"]]), order=1), tmp_path / "a.arpa")
    text = sentence_arrays([["a"]], vocabulary=Vocabulary(("a", "<s>"), np.array([1, 0])))
    with pytest.raises(InputError, match="<s> or </s> is a word"):
        write_arpa(fit_ngram(text, order=1), tmp_path / "a.arpa")
    assert not list(tmp_path.iterdir())


GOOD = r"""made by hand

\data\
ngram 1=5
ngram 2=3
ngram 3=2

\1-grams:
-99	<s>	-0.3
-0.5	</s>
-1.5	<unk>
-0.4	a	-0.2
-0.6	b	-0.1

\2-grams:
-0.2	<s> a	-0.05
-0.3	a b
-0.25	b </s>

\3-grams:
-0.1	<s> a b
-0.15	a b </s>

\end\
"""


def test_a_file_made_by_hand(tmp_path):
    path = tmp_path / "good.arpa"
    path.write_text(GOOD)
    model = read_arpa(path)
    assert (model.order, model.vocabulary.words, model.vocabulary.unknown) == (
        3,
        ("<unk>", "a", "b"),
        "<unk>",
    )
    in10 = model.logprob(["a", "b"]) / np.log(10)
    np.testing.assert_allclose(in10, [-0.2, -0.1, -0.15])
    # Backing off from <s> a, with its weight, and from a.
    np.testing.assert_allclose(
        model.logprob(["a", "a", "zz"]) / np.log(10), [-0.2, -0.05 - 0.2 - 0.4, -0.2 - 1.5, -0.5]
    )
    assert model.match_depths(model.stream([["a", "b"]])).tolist() == [1, 2, 2]


def test_missing_suffixes_and_prefixes_are_put_in(tmp_path):
    path = tmp_path / "pruned.arpa"
    text = GOOD.replace("ngram 2=3", "ngram 2=1").replace("-0.3\ta b\n", "").replace("-0.25\tb </s>\n", "")
    path.write_text(text)
    model = read_arpa(path)
    assert model.table.is_sound()
    kept = model.logprob(["a", "b"]) / np.log(10)
    np.testing.assert_allclose(kept, [-0.2, -0.1, -0.15])  # the trigrams are found through what was put in
    # p(b | a) = the weight of a times p(b), p(end | b) likewise, as if they were not there.
    np.testing.assert_allclose(model.logprob(["b", "a", "b"])[2] / np.log(10), -0.2 - 0.6)
    np.testing.assert_allclose(model.logprob(["b"])[1] / np.log(10), -0.1 - 0.5)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_set_of_grams_follows_the_definition(tmp_path_factory, data):
    """Grams and weights drawn at random: what is read must be what the definition gives, whatever is missing."""
    words = ["a", "b"]
    path = tmp_path_factory.mktemp("arpa") / "drawn.arpa"
    value = st.integers(-30, -5).map(lambda n: n / 10)
    grams, weights = {}, {}
    for w in ["<s>", "</s>", "<unk>", *words]:
        grams[w,] = -99.0 if w == "<s>" else data.draw(value)
    for order in (2, 3):
        first, last = ["<s>", *words], ["</s>", *words]
        possible = [
            (x, *m, y) for x in first for m in ([()] if order == 2 else [(w,) for w in words]) for y in last
        ]
        for gram in data.draw(st.lists(st.sampled_from(possible), unique=True, max_size=8)):
            grams[gram] = data.draw(value)
    for gram in grams:
        if len(gram) < 3 and gram[-1] != "</s>":
            weights[gram] = data.draw(st.sampled_from([0.0, -0.3, 0.2]))
    lines = ["\\data\\", *(f"ngram {k}={sum(len(g) == k for g in grams)}" for k in (1, 2, 3))]
    for k in (1, 2, 3):
        lines += ["", f"\\{k}-grams:"]
        lines += ["\t".join([str(p), " ".join(g), *([str(weights[g])] if g in weights else [])])
                  for g, p in grams.items() if len(g) == k]  # fmt: skip
    path.write_text("\n".join([*lines, "", "\\end\\", ""]))
    model = read_arpa(path)
    assert model.table.is_sound()

    def p(x, y):
        if (*x, y) in grams:
            return grams[*x, y]
        return weights.get(x, 0.0) + p(x[1:], y)

    for sentence in (["a", "b", "a", "a", "b", "b"], ["b"], ["b", "x", "a", "b"], []):
        seq = ["<s>", *[w if w in words else "<unk>" for w in sentence], "</s>"]
        wanted = [p(tuple(seq[max(0, i - 2) : i]), seq[i]) for i in range(1, len(seq))]
        np.testing.assert_allclose(model.logprob(sentence) / np.log(10), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("\\data\\", "\\date\\", None, "no \\data\\ in this file"),
        ("ngram 1=5", "ngram 1=x", 4, "not ngram 1=COUNT"),
        ("ngram 2=3", "ngram 3=3", 5, "not ngram 2=COUNT"),
        ("ngram 1=5\nngram 2=3\nngram 3=2\n", "", 5, "no counts after"),
        ("ngram 1=5", "ngram 1=6", 8, "5 grams of order 1 where \\data\\ announces 6"),
        ("ngram 3=2", "ngram 3=1", 20, "2 grams of order 3 where \\data\\ announces 1"),
        ("\\2-grams:", "\\3-grams:", 15, "\\2-grams: is missing here"),
        ("ngram 3=2\n", "", 15, "not a number, 2 words"),
        ("ngram 2=3\nngram 3=2", "ngram 2=3\nngram 3=2\nngram 4=0", 25, "\\4-grams: is missing here"),
        ("-0.4\ta", "minus\ta", 12, "a logarithm that is not a number"),
        ("a\t-0.2", "a\tx", 12, "a logarithm that is not a number"),
        ("-0.4\ta", "0.4\ta", 12, "a probability above 1"),
        ("-0.3\ta b", "nan\ta b", 17, "a probability above 1"),
        ("a\t-0.2", "a\tnan", 12, "a back-off weight that is not a number"),
        ("-0.3\ta b", "-0.3\ta", 17, "not a number, 2 words and perhaps a back-off weight"),
        ("<s> a b", "<s> a b -0.5", 21, "not a number, 3 words"),
        ("-0.3\ta b", "-0.3\ta z", 17, "'z' is not among the 1-grams"),
        ("-0.6\tb", "-0.6\ta", 13, "the word 'a' appears twice"),
        ("-0.3\ta b", "-0.3\tb </s>", 18, "this gram appears twice"),
        ("-0.3\ta b", "-0.3\ta <s>", 17, "<s> after, or </s> before"),
        ("-0.3\ta b", "-0.3\t</s> b", 17, "<s> after, or </s> before"),
        ("-0.5\t</s>", "-0.5\tc", 15, "</s> is not among the 1-grams"),
        ("\n\\end\\", "", 23, "\\end\\ is missing here"),
    ],
)
def test_bad_files(tmp_path, old, new, line, what):
    path = tmp_path / "bad.arpa"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_arpa(path)
    message = str(caught.value)
    assert what in message
    assert message.startswith(f"{path}:" + (f"{line}: " if line else ""))
    assert "\n" not in message


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_arpa(tmp_path / "nowhere.arpa")


@pytest.mark.parametrize("cut", range(0, len(GOOD) - 2, 7))
def test_cut_files(tmp_path, cut):
    path = tmp_path / "cut.arpa"
    path.write_text(GOOD[:cut])
    with pytest.raises(InputError):
        read_arpa(path)


def test_numbers_stay_as_they_were_printed(tmp_path):
    """Those of KenLM, in single precision, through a model file; and those with nine digits, in memory."""
    rng = np.random.default_rng(0)
    shortest = [np.format_float_positional(v, trim="-") for v in -rng.exponential(2, 300).astype(np.float32)]
    nine = [f"{v:.9g}" for v in (*-rng.exponential(2, 300), -1e-5, -1.5e-7, -12.0, -98.7654321)]
    for name, numbers in (("single", shortest), ("nine", nine)):
        words = [f"w{i}" for i in range(len(numbers))]
        lines = ["\\data\\", f"ngram 1={len(words) + 2}", f"ngram 2={len(words)}", "", "\\1-grams:"]
        lines += [f"{a}\t{w}\t{b}" for a, w, b in zip(numbers, words, reversed(numbers))]
        lines += ["-1\t</s>", "-99\t<s>", "", "\\2-grams:", *(f"{a}\tw0 {w}" for a, w in zip(numbers, words))]
        path, second = tmp_path / f"{name}.arpa", tmp_path / "second.arpa"
        path.write_text("\n".join([*lines, "", "\\end\\", ""]))
        model = read_arpa(path)
        if name == "single":
            model.save(tmp_path / "m.spinney")
            model = load_language_model(tmp_path / "m.spinney")
        write_arpa(model, second)
        assert second.read_text().split() == path.read_text().split()


def test_numbers_are_read_to_the_last_bit():
    from spinney.lm._arpa_kernels import parsed_number

    rng = np.random.default_rng(1)
    numbers = [
        form(v)
        for v in 10.0 ** rng.uniform(-25, 25, 500)
        for form in (repr, "{:.7g}".format, "{:.3f}".format)
    ]
    exact = 0
    for text in [*numbers, "-0.5", "+1e3", "1.", ".5", "-7E-02"]:
        value, end, good = parsed_number(f"{text}\t".encode(), 0)
        assert not good or (value, end) == (float(text), len(text))
        exact += good
    assert exact > len(numbers) / 2
    for text in ("1e", "x", "--1", "1.2.3", "nan", "-inf", "1" * 30, "1e400", "5x"):
        assert not parsed_number(f"{text}\t".encode(), 0)[2]


def test_unusual_lines_among_usual_ones(tmp_path):
    """Spaces for tabs, blank lines, long numbers and exponents, as various programs write them."""
    path = tmp_path / "odd.arpa"
    text = GOOD.replace("-0.3\ta b", " -3.0000000000000000000000000e-1   a  b\t ").replace(
        "-0.25\tb", "-25E-2 b"
    )
    text = text.replace("\\3-grams:", "\n\t\n\\3-grams:").replace("\n", "\r\n")
    path.write_bytes(text.encode())
    plain = tmp_path / "good.arpa"
    plain.write_text(GOOD)
    odd, good = read_arpa(path), read_arpa(plain)
    np.testing.assert_array_equal(odd.logp, good.logp)
    np.testing.assert_array_equal(odd.table.symbol, good.table.symbol)
    path.write_text(text.replace("a  b", "a  q").replace("\r", ""))
    with pytest.raises(InputError, match=r"odd\.arpa:17: 'q' is not among"):
        read_arpa(path)
