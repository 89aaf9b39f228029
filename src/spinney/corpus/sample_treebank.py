"""A small treebank of an invented language, which comes with every Spinney: sentences, raw text and ELAN files.

Its nouns have cases and numbers, its verbs tenses that agree with their subjects, objects stand before verbs, and one
contraction is two words. All of it is generated from a page of grammar, with a seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import raw_text

_NOUNS: Final = {
    "miru": "dog", "kela": "child", "ruti": "bird", "vani": "woman", "dorim": "man", "pelu": "fish", "hasto": "tree",
    "lomes": "river", "tanek": "stone", "sopa": "house", "gavi": "goat", "beno": "boat", "ulas": "basket",
}  # fmt: skip
_NAMES: Final = ("Tavo", "Irel", "Sumi")
_ADJECTIVES: Final = {"osu": "old", "bira": "big", "teni": "small", "walu": "red"}
_DETERMINERS: Final = {"ke": "this", "an": "that"}
_ADVERBS: Final = {"ola": "today", "enzi": "often", "mako": "not"}
_WITH_OBJECT: Final = {"lana": "see", "toku": "carry", "dupa": "eat", "niski": "find"}
_WITHOUT: Final = {"sele": "sleep", "rimo": "walk", "fahi": "sing"}
_CASES: Final = {"Nom": "", "Acc": "k", "Loc": "pe"}
_PRONOUNS: Final = {"na": ("1", "I"), "ti": ("2", "you")}
_AUXILIARY: Final = "es"


class _Word(NamedTuple):
    """A word before it has a number: its head is another word, by its place in the list, or -1 for the root."""

    form: str
    lemma: str
    upos: str
    feats: str
    head: int
    deprel: str
    gloss: str


def sample_treebank(n: int = 60, seed: int = 0) -> list[Sentence]:
    """Sentences of the invented language, with tags, features, lemmas, glosses and trees.

    Examples
    --------
    >>> print(raw_text(sample_treebank(2)).rstrip())
    An ulas bira dorimrape tanekek tokumi. An bira tanek mirurape fahilo.
    """
    rng = Random(seed)
    return [_sentence(rng, number) for number in range(1, n + 1)]


def sample_raw(n: int = 200, seed: int = 1) -> str:
    """Text of the invented language that nobody has annotated, in paragraphs of five sentences.

    Examples
    --------
    >>> sample_raw(10).count("\\n\\n")
    1
    """
    sentences = sample_treebank(n, seed)
    return "\n".join(raw_text(sentences[i : i + 5]) for i in range(0, n, 5))


def _sentence(rng: Random, number: int) -> Sentence:
    words = _copular(rng) if rng.random() < 0.15 else _clause(rng)
    root = next(i for i, word in enumerate(words) if word.head < 0)
    mark = rng.choice("...?!")
    words.append(_Word(mark, mark, "PUNCT", "_", root, "punct", ""))
    forms = [word.form for word in words]
    misc = [f"Gloss={word.gloss}" if word.gloss else "_" for word in words]
    extras = []
    if forms[1] == _AUXILIARY:  # na es is written nas
        whole = forms[0].capitalize() + forms[1][1:]
        extras = [(0, f"1-2\t{whole}" + "\t_" * 8)]
    forms[0] = forms[0][0].upper() + forms[0][1:]
    for i in range(len(words) - 1):
        if words[i + 1].upos == "PUNCT":
            misc[i] = "SpaceAfter=No" if misc[i] == "_" else f"{misc[i]}|SpaceAfter=No"
    sentence = Sentence(
        forms,
        [word.lemma for word in words],
        [word.upos for word in words],
        feats=[word.feats for word in words],
        heads=[word.head + 1 for word in words],
        deprels=[word.deprel for word in words],
        misc=misc,
        extras=extras,
    )
    sentence.comments = [f"# sent_id = {number}", f"# text = {raw_text([sentence]).rstrip()}"]
    return sentence


def _copular(rng: Random) -> list[_Word]:
    """I am old."""
    person = rng.choice(list(_PRONOUNS))
    number, gloss = _PRONOUNS[person]
    adjective = rng.choice(list(_ADJECTIVES))
    return [
        _Word(person, person, "PRON", f"Case=Nom|Number=Sing|Person={number}", 2, "nsubj", gloss),
        _Word(_AUXILIARY, _AUXILIARY, "AUX", "_", 2, "cop", "be"),
        _Word(adjective, adjective, "ADJ", "_", -1, "root", _ADJECTIVES[adjective]),
    ]


def _clause(rng: Random) -> list[_Word]:
    """Subject, place, object and verb, with an adverb here and there."""
    parts: list[list[_Word]] = []
    if rng.random() < 0.3:
        adverb = rng.choice(list(_ADVERBS))
        parts.append([_Word(adverb, adverb, "ADV", "_", -1, "advmod", _ADVERBS[adverb])])
    subject, plural = _phrase(rng, "Nom", "nsubj")
    if rng.random() < 0.15:
        second, _ = _phrase(rng, "Nom", "conj")
        subject, plural = _joined(subject, second), True
    parts.append(subject)
    if rng.random() < 0.4:
        parts.append(_phrase(rng, "Loc", "obl")[0])
    transitive = rng.random() < 0.6
    if transitive:
        parts.append(_phrase(rng, "Acc", "obj")[0])
    stems = _WITH_OBJECT if transitive else _WITHOUT
    stem = rng.choice(list(stems))
    past = rng.random() < 0.6
    form = stem + ("mi" if past else "lo") + ("t" if plural else "")
    feats = f"Number={'Plur' if plural else 'Sing'}|Tense={'Past' if past else 'Pres'}"
    gloss = f"{stems[stem]}-{'PST' if past else 'PRS'}" + ("-PL" if plural else "")
    verb = sum(map(len, parts))
    words: list[_Word] = []
    for part in parts:
        start = len(words)
        words += [one._replace(head=verb if one.head < 0 else start + one.head) for one in part]
    return [*words, _Word(form, stem, "VERB", feats, -1, "root", gloss)]


def _phrase(rng: Random, case: str, relation: str) -> tuple[list[_Word], bool]:
    """A noun with what stands before it, or a name; and whether it is plural."""
    words: list[_Word] = []
    if case == "Nom" and rng.random() < 0.2:
        name = rng.choice(_NAMES)
        return [_Word(name, name, "PROPN", "Case=Nom|Number=Sing", -1, relation, name)], False
    if rng.random() < 0.4:
        word = rng.choice(list(_DETERMINERS))
        words.append(_Word(word, word, "DET", "_", 0, "det", _DETERMINERS[word]))
    if rng.random() < 0.35:
        word = rng.choice(list(_ADJECTIVES))
        words.append(_Word(word, word, "ADJ", "_", 0, "amod", _ADJECTIVES[word]))
    stem, plural = rng.choice(list(_NOUNS)), rng.random() < 0.35
    ending = ("ra" if plural else "") + _CASES[case]
    if case == "Acc" and not plural and stem[-1] not in "aeiou":
        ending = "ek"
    feats = f"Case={case}|Number={'Plur' if plural else 'Sing'}"
    marks = ["PL"] * plural + [case.upper()] * (case != "Nom")
    noun = _Word(stem + ending, stem, "NOUN", feats, -1, relation, "-".join([_NOUNS[stem], *marks]))
    n = len(words)
    return [*(word._replace(head=n) for word in words), noun], plural


def _joined(first: Sequence[_Word], second: Sequence[_Word]) -> list[_Word]:
    """Two phrases with *ju* (and) between them; the first is the head."""
    head, n = len(first) - 1, len(first) + 1
    last = n + len(second) - 1
    after = [word._replace(head=head if word.head < 0 else n + word.head) for word in second]
    return [*first, _Word("ju", "ju", "CCONJ", "_", last, "cc", "and"), *after]


def elan_document(sentences: Iterable[Sentence], speakers: Sequence[str] = ("A",)) -> str:
    """Sentences as an ELAN file, as a fieldworker would make it: utterances in time, and below them words with tags.

    Speakers take turns. Each has a tier of utterances, which are aligned with the recording, and below it tiers of
    words, parts of speech, lemmas and glosses, called ``words@A`` and so on. Words have no punctuation of their own.

    Examples
    --------
    >>> print(elan_document(sample_treebank(1)).partition("?>")[0])
    <?xml version="1.0" encoding="UTF-8"
    """
    tiers: dict[str, list[str]] = {
        f"{name}@{speaker}": []
        for speaker in speakers
        for name in ("utterance", "words", "pos", "lemma", "gloss")
    }
    slots = []
    number = 0

    def referring(tier: str, value: str, above: str, before: str = "") -> str:
        nonlocal number
        number += 1
        previous = f' PREVIOUS_ANNOTATION="{before}"' if before else ""
        tiers[tier].append(
            f'<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a{number}" ANNOTATION_REF="{above}"{previous}>'
            f"<ANNOTATION_VALUE>{escape(value)}</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>"
        )
        return f"a{number}"

    for i, sentence in enumerate(sentences):
        speaker = speakers[i % len(speakers)]
        number += 1
        utterance = f"a{number}"
        slots += [(f"ts{2 * i + 1}", 2000 * i), (f"ts{2 * i + 2}", 2000 * i + 1900)]
        tiers[f"utterance@{speaker}"].append(
            f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{utterance}" TIME_SLOT_REF1="{slots[-2][0]}" '
            f'TIME_SLOT_REF2="{slots[-1][0]}"><ANNOTATION_VALUE>{escape(raw_text([sentence]).rstrip())}'
            "</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
        )
        before = ""
        for form, tag, lemma, gloss in _spoken(sentence):
            before = referring(f"words@{speaker}", form, utterance, before)
            for name, value in (("pos", tag), ("lemma", lemma), ("gloss", gloss)):
                referring(f"{name}@{speaker}", value, before)
    return "\n".join(_elan_lines(tiers, slots)) + "\n"


def _spoken(sentence: Sentence) -> Iterator[tuple[str, str, str, str]]:
    """Words with their tags, lemmas and glosses, without punctuation; a contraction stays one word."""
    glosses = [field.partition("|")[0].removeprefix("Gloss=") for field in sentence.misc]
    rows = list(zip(sentence.forms, sentence.upos, sentence.lemmas, glosses))
    if sentence.extras:
        (_, line), (_, tag, lemma, gloss), second = sentence.extras[0], rows[0], rows[1]
        rows[:2] = [(line.split("\t")[1], tag, lemma, f"{gloss}={second[3]}")]
    return (row for row in rows if row[1] != "PUNCT")


def _elan_lines(tiers: dict[str, list[str]], slots: Sequence[tuple[str, int]]) -> Iterator[str]:
    kinds = {
        "utterance": "", "words": "Symbolic_Subdivision", "pos": "Symbolic_Association",
        "lemma": "Symbolic_Association", "gloss": "Symbolic_Association",
    }  # fmt: skip
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<ANNOTATION_DOCUMENT AUTHOR="" DATE="2024-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">'
    yield '<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>'
    yield "<TIME_ORDER>"
    yield from (f'<TIME_SLOT TIME_SLOT_ID="{name}" TIME_VALUE="{time}"/>' for name, time in slots)
    yield "</TIME_ORDER>"
    for tier, made in tiers.items():
        name, _, speaker = tier.partition("@")
        above = {"utterance": "", "words": f"utterance@{speaker}"}.get(name, f"words@{speaker}")
        parent = f' PARENT_REF="{above}"' if above else ""
        yield f'<TIER LINGUISTIC_TYPE_REF="{name}" PARTICIPANT="{speaker}" TIER_ID="{tier}"{parent}>'
        yield from made
        yield "</TIER>"
    for name, constraint in kinds.items():
        told = f' CONSTRAINTS="{constraint}"' if constraint else ""
        alignable = "false" if constraint else "true"
        yield f'<LINGUISTIC_TYPE{told} LINGUISTIC_TYPE_ID="{name}" TIME_ALIGNABLE="{alignable}"/>'
    yield "</ANNOTATION_DOCUMENT>"
