"""Features in words: what the templates see of a part, with its hash. The kernels compute the same hashes faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from spinney.corpus.conllu import Sentence
from spinney.parsing.treecrf.nodes import AFTER, BEFORE, NO_SIBLING, ROOT, NodeReader, hashed
from spinney.parsing.treecrf.templates import (
    AGREEMENT,
    BETWEEN,
    DIRECTION,
    DISTANCE,
    FEAT,
    GAP,
    ROLES,
    Atom,
    Template,
)

_MASK = (1 << 64) - 1
_SIDES = ("root", "right", "left")
_STEPS = {6: "6–7", 7: "8–10", 8: "11–15", 9: "16–25", 10: "26+"}
_MOST, _MOST_FEATS = 24, 64  # values that the kernels look at


def mixed(h: int, value: int) -> int:
    """Take one more value into a hash, as the kernels do."""
    h = ((h ^ value) * 0x9E3779B97F4A7C15) & _MASK
    return h ^ (h >> 32)


def features_in_words(
    sentence: Sentence,
    head: int,
    modifier: int,
    sibling: int | None,
    templates: Sequence[Template],
    reader: NodeReader,
) -> Iterator[tuple[int, str]]:
    """The hash and the words of each feature of a part; a sibling of 0 stands for none, and None for an arc.

    Examples
    --------
    >>> from spinney.parsing.treecrf.templates import read_templates
    >>> dogs = Sentence(["Dogs", "bark"], upos=["NOUN", "VERB"])
    >>> template, *_ = read_templates("arc: h.upos m.lower distance\\nlabel: m.upos\\nprune: h.upos")
    >>> [text for _, text in features_in_words(dogs, 2, 1, None, [template], NodeReader(["lower", "upos"]))]
    ['h.upos=VERB m.lower=dogs distance=left 1']
    """
    at = (head, modifier, sibling or -1)
    for template in templates:
        single = [atom for atom in template.atoms if not atom.several]
        key, texts = hashed(template.text), []
        for atom in single:
            value, text = _seen(atom, at, sentence, reader)
            key = mixed(key, value)
            texts.append(text)
        several = next((atom for atom in template.atoms if atom.several), None)
        if several is None:
            yield key or 1, " ".join(texts)
            continue
        for value, text in _values(several, at, sentence, reader):
            yield mixed(key, value) or 1, " ".join([*texts, text])


def _seen(atom: Atom, at: tuple[int, int, int], sentence: Sentence, reader: NodeReader) -> tuple[int, str]:
    head, modifier, sibling = at
    side = 0 if head == 0 else 1 if head < modifier else 2
    if atom.code == DIRECTION:
        return side, f"direction={_SIDES[side]}"
    if atom.code == DISTANCE:
        step = _bucket(abs(head - modifier)) if head else 0
        return 16 * side + step, f"distance={_SIDES[side]}" + (f" {_STEPS.get(step, step)}" if head else "")
    if atom.code == GAP:
        step = _bucket(abs(sibling - modifier)) if sibling >= 0 else 11
        return 16 * side + step, f"gap={_STEPS.get(step, step) if sibling >= 0 else 'none'}"
    name = f"{ROLES[atom.role]}{f'{atom.offset:+d}' if atom.offset else ''}.{atom.column}"
    where = at[atom.role]
    place = where + atom.offset
    if where < 0:
        return NO_SIBLING, f"{name}=<none>"
    if place < (1 if atom.offset else 0):
        return BEFORE, f"{name}=<before>"
    if place > len(sentence):
        return AFTER, f"{name}=<after>"
    if place == 0:
        return ROOT, f"{name}=<root>"
    text = reader.seen(sentence, place - 1, atom.column)
    return hashed(text), f"{name}={text}"


def _values(
    atom: Atom, at: tuple[int, int, int], sentence: Sentence, reader: NodeReader
) -> Iterator[tuple[int, str]]:
    if atom.code == BETWEEN:
        low, high = sorted(at[:2])
        seen = dict.fromkeys(reader.seen(sentence, k - 1, atom.column) for k in range(low + 1, high))
        for text in list(seen)[:_MOST]:
            yield hashed(text), f"between.{atom.column}={text}"
    elif atom.code == FEAT:
        for pair in _pairs(sentence, at[atom.role])[:_MOST_FEATS]:
            yield hashed(pair), f"{ROLES[atom.role]}.{pair}"
    elif atom.code == AGREEMENT:
        both = (
            (one, other)
            for one in _pairs(sentence, at[0])
            for other in _pairs(sentence, at[1])
            if one.partition("=")[0] == other.partition("=")[0]
        )
        for one, other in islice(both, _MOST_FEATS):
            yield mixed((hashed(one) + 1) & _MASK, hashed(other)), f"h.{one} m.{other}"


def _pairs(sentence: Sentence, word: int) -> list[str]:
    """The attributes of a word, with their values."""
    feats = sentence.feats[word - 1] if word > 0 and sentence.feats else "_"
    return [] if feats == "_" else ["=".join(pair.partition("=")[::2]) for pair in feats.split("|")]


def _bucket(d: int) -> int:
    return d if d <= 5 else 6 if d <= 7 else 7 if d <= 10 else 8 if d <= 15 else 9 if d <= 25 else 10
