"""What dimensions of forest-structured codes stand for: signs in a category, by level of the tree, and words.

And whether words of opposite meanings lie apart: in the codes, and in the plane into which t-SNE puts them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from grave_common import section, short, table, verdict
from numpy.typing import NDArray
from spectral_common import Setting
from yogatama_learners import RARE, TREE, Learnt, levels, material, parents

from spinney.embed.plots import tsne_map

#: The first of each is the abstract word; the first ten that are known count.
CATEGORIES = {
    "animals": ("animal", "horse", "elephant", "dog", "cat", "bird", "snake", "lion", "wolf", "monkey", "rat"),
    "countries": (
        "country", "america", "england", "france", "germany", "italy", "japan", "china", "russia", "india", "ireland",
    ),
}  # fmt: skip
#: Words of either side. The thesis's Figure 4.4 is lost and its text does not name its words: these are ours.
OPPOSITES = {
    ("good", "bad"): (
        ("good", "great", "excellent", "wonderful", "fantastic", "amazing", "brilliant", "superb", "perfect",
         "terrific", "outstanding", "enjoyable", "delightful", "beautiful", "nice"),
        ("bad", "awful", "terrible", "horrible", "poor", "boring", "dull", "stupid", "dreadful", "lousy", "weak",
         "ridiculous", "pathetic", "mediocre", "disappointing"),
    ),
    ("man", "woman"): (
        ("man", "men", "boy", "boys", "he", "him", "himself", "father", "son", "brother", "husband", "king", "actor",
         "uncle", "grandfather"),
        ("woman", "women", "girl", "girls", "she", "her", "herself", "mother", "daughter", "sister", "wife", "queen",
         "actress", "aunt", "grandmother"),
    ),
}  # fmt: skip
#: Lists whose words are partners (king and queen), word by word.
PAIRED = {("man", "woman")}
LEVELS = ("roots", "children", "leaves")
_DRAWS = 500
_SHUFFLES = 10_000
_TEN = 10
_FREQUENT = 100  # dimensions are described by words seen so often


def meanings(setting: Setting, learnt: dict[float, Learnt]) -> str:
    """Signs of ten animals and ten countries, by λ; and a tree in words, at the first λ."""
    rows: list[list[object]] = []
    claims: list[tuple[str, bool]] = []
    for lam, one in learnt.items():
        rows += _agreements(setting, one, lam, claims)
    note = (
        "For each dimension, the share of the words of a category whose number has the sign of most of them (of those "
        "that are not zero), averaged over dimensions of a level; beside it the same for sets of ten random words of "
        f"about the same frequency ({_DRAWS} draws). “Agree”: dimensions in which nine of ten have one sign. Length: "
        "of the code of the abstract word over the mean of the others. The thesis shows this in pictures: some "
        "dimensions agree within a category, the abstract word has larger numbers, and animal, horse and elephant "
        "disagree in leaves more than above. Random words are of all parts of speech: some of what categories agree "
        "in is that they are nouns, or names."
    )
    header = [
        "category",
        *(cell for level in LEVELS for cell in (level, "random")),
        "agree",
        "random",
        "length",
    ]
    report = section("What dimensions stand for", note, header, rows)
    report += f"\nDimensions in which {_trio(setting)} do not all have the same sign (zero is one), in %:\n\n"
    report += table(["", *LEVELS], [_disagreement(setting, one, lam, claims) for lam, one in learnt.items()])
    lam, one = next(iter(learnt.items()))
    report += f"\nSigns at λ = {lam:g}, a tree of 13 after the other, its root first (. is zero):\n\n"
    report += _picture(setting, one.matrix)
    report += (
        f"\nStrongest words, seen {_FREQUENT} times or more, of the tree in which animals agree most:\n\n"
    )
    report += _tree_in_words(setting, one.matrix)
    return report + _apart(setting, learnt, claims) + verdict(claims)


def _places(setting: Setting, words: tuple[str, ...]) -> NDArray[np.int64]:
    number = {word: i for i, word in enumerate(material(setting).text.vocabulary.words)}
    return np.array([number[word] for word in words if word in number][:_TEN])


def _majority(signs: NDArray[Any]) -> NDArray[np.float64]:
    """For each dimension, the larger share of one sign among the numbers that are not zero; signs [words, M]."""
    above, below = (signs > 0).sum(axis=0), (signs < 0).sum(axis=0)
    return np.where(above + below, np.maximum(above, below) / np.maximum(above + below, 1), np.nan)


def _agreements(
    setting: Setting, one: Learnt, lam: float, claims: list[tuple[str, bool]]
) -> list[list[object]]:
    codes, level = one.matrix, levels(parents(one.matrix.shape[1], "4, 2"))
    signs, rng = np.sign(codes), np.random.default_rng(setting.seed)
    rows: list[list[object]] = []
    for category, words in CATEGORIES.items():
        places = _places(setting, words)
        found = _majority(signs[places])
        # Words are sorted by frequency: a hundred ranks up or down is about the same.
        drawn = np.clip(places + rng.integers(-100, 101, (_DRAWS, len(places))), 1, len(codes) - 1)
        random = np.array([_majority(signs[some]) for some in drawn])
        row: list[object] = [f"{category}, λ = {lam:g}"]
        for i in range(len(LEVELS)):
            row += [short(np.nanmean(found[level == i])), short(np.nanmean(random[:, level == i]))]
        agree, by_chance = int((found >= 0.9).sum()), (random >= 0.9).sum(axis=1)
        lengths = np.linalg.norm(codes[places], axis=1)
        ratio = lengths[0] / lengths[1:].mean()
        row += [f"{agree} of {len(found)}", f"{by_chance.mean():.1f}", f"{ratio:.2f}"]
        rows.append(row)
        above = bool(np.mean(by_chance >= agree) < 0.05)
        claims.append(
            (f"{category} agree in more dimensions than random words (λ = {lam:g}, p < .05)", above)
        )
        claims.append(
            (f"{words[0]} has a longer code than the other {category} (λ = {lam:g})", bool(ratio > 1))
        )
    return rows


def _trio(setting: Setting) -> str:
    """The first three animals that are known."""
    words = material(setting).text.vocabulary.words
    first, second, third = (words[i] for i in _places(setting, CATEGORIES["animals"])[:3])
    return f"{first}, {second} and {third}"


def _disagreement(setting: Setting, one: Learnt, lam: float, claims: list[tuple[str, bool]]) -> list[object]:
    signs = np.sign(one.matrix[_places(setting, CATEGORIES["animals"])[:3]])
    level = levels(parents(one.matrix.shape[1], "4, 2"))
    differ = np.ptp(signs, axis=0) > 0
    shares = [float(differ[level == i].mean()) for i in range(len(LEVELS))]
    claims.append((f"{_trio(setting)} disagree most in leaves (λ = {lam:g})", shares[2] > max(shares[:2])))
    return [f"λ = {lam:g}", *(f"{100 * share:.0f}" for share in shares)]


def _picture(setting: Setting, codes: NDArray[Any]) -> str:
    words = material(setting).text.vocabulary.words
    lines = []
    for category in CATEGORIES.values():
        for i in _places(setting, category):
            marks = "".join({1.0: "+", -1.0: "-", 0.0: "."}[sign] for sign in np.sign(codes[i]).tolist())
            parted = " ".join(marks[first : first + TREE] for first in range(0, len(marks), TREE))
            lines.append(f"    {words[i]:<9} {parted}")
    return "\n".join(lines) + "\n"


def _tree_in_words(setting: Setting, codes: NDArray[Any]) -> str:
    """The root of a tree, its first two children and their leaves."""
    vocabulary = material(setting).text.vocabulary
    agreement = _majority(np.sign(codes[_places(setting, CATEGORIES["animals"])]))
    tree = int(np.argmax(np.nan_to_num(agreement).reshape(-1, TREE).mean(axis=1)))
    frequent = np.flatnonzero(np.asarray(vocabulary.counts) >= _FREQUENT)
    frequent = frequent[[vocabulary.words[i] != RARE for i in frequent]]
    rows: list[list[object]] = []
    for place, name in enumerate(
        ("root", "child 1", "leaf 1.1", "leaf 1.2", "child 2", "leaf 2.1", "leaf 2.2")
    ):
        numbers = codes[frequent, tree * TREE + place]
        order = np.argsort(numbers)
        for sign, some in (("+", order[::-1][:8]), ("−", order[:8])):
            strongest = [vocabulary.words[frequent[i]] for i in some if numbers[i] != 0]
            rows.append([f"{name} {sign}", ", ".join(strongest)])
    return table(["dimension", "words"], rows).replace("---:", "---")


def _apart(setting: Setting, learnt: dict[float, Learnt], claims: list[tuple[str, bool]]) -> str:
    """Words of opposite meanings, told apart by their nearest neighbours, in the plane and in the codes."""
    rows: list[list[object]] = []
    said = []
    for names, lists in OPPOSITES.items():
        words, is_second, pair = _known(setting, lists)
        ways = {"": np.arange(len(words))} | ({", but for partners": pair} if names in PAIRED else {})
        for lam, one in learnt.items():
            codes = one.matrix[words] / np.linalg.norm(one.matrix[words], axis=1, keepdims=True)
            plane, _ = tsne_map(codes, random_state=setting.seed)
            for way, apart in ways.items():
                cells: list[object] = [f"{names[0]} and {names[1]}{way}, λ = {lam:g}"]
                for where, points in (("in the plane", plane), ("in the codes", codes)):
                    share, by_chance, p_value = _neighbours_agree(points, is_second, apart, setting.seed)
                    cells += [f"{100 * share:.0f}", _chance(p_value)]
                    claim = f"nearest neighbours {where} tell {names[0]} from {names[1]}{way}"
                    claims.append((f"{claim} (λ = {lam:g}, p < .05)", p_value < 0.05))
                rows.append([*cells, f"{100 * by_chance:.0f}"])
        known = np.array(material(setting).text.vocabulary.words, object)[words]
        said += [f"{name}: {', '.join(known[is_second == bool(i)])}" for i, name in enumerate(names)]
    what = (
        "\nHow many words of two opposite lists have a nearest neighbour from their own list, in %: in the plane into "
        "which t-SNE puts the words of both (cosine distances, the best of ten runs by its divergence, as in the "
        "thesis), and by cosine in the codes themselves; p of shuffled lists. “But for partners”: the word at the same "
        "place of the other list (king, queen) does not count as a neighbour; these rows were added when it was seen "
        "that partners are often nearest. The thesis shows pictures at M = 520. The words are ours: "
        f"{'; '.join(said)}.\n\n"
    )
    return what + table(["", "plane", "p", "codes", "p", "chance"], rows)


def _known(
    setting: Setting, lists: tuple[tuple[str, ...], ...]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """The words of two lists that the text has, which of them are of the second, and their places in the lists."""
    number = {word: i for i, word in enumerate(material(setting).text.vocabulary.words)}
    found = [
        (number[word], bool(i), place)
        for i, some in enumerate(lists)
        for place, word in enumerate(some)
        if word in number
    ]
    words, sides, places = zip(*found)
    return np.array(words), np.array(sides), np.array(places)


def _neighbours_agree(
    points: NDArray[Any], is_second: NDArray[np.bool_], apart: NDArray[np.int64], seed: int
) -> tuple[float, float, float]:
    """The share of points whose nearest point is of the same list, that share by chance, and the p-value.

    Points with the same number in ``apart`` are no neighbours.
    """
    squares = (points * points).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    distances[apart[:, None] == apart] = np.inf
    nearest = distances.argmin(axis=1)
    share = float(np.mean(is_second[nearest] == is_second))
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(is_second, (_SHUFFLES, 1)), axis=1)
    by_chance = (shuffled[:, nearest] == shuffled).mean(axis=1)
    p_value = (1 + int((by_chance >= share - 1e-12).sum())) / (1 + _SHUFFLES)
    return share, float(by_chance.mean()), p_value


def _chance(p_value: float) -> str:
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".removeprefix("0")
