"""Grave (2014), chapter 3: do clusters of words follow categories?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from grave_common import LOST, STRUCTURES, Setting, section, short, table, verdict
from grave_models import vectors

from spinney.evaluate import CategorisationResult, categorise, lookup, read_categories

SIZES = (128, 256, 512)
LINKAGES: Final[tuple[Literal["complete", "average", "single"], ...]] = ("complete", "average", "single")
#: Purity/entropy, 128, 256 and 512 classes, trees before chains.
PUBLISHED = {
    "ESSLLI concrete nouns, 6 classes": (LOST, ".71/.28", LOST, ".58/.51", ".58/.47", ".71/.42"),
    "ESSLLI concrete nouns, 3 classes": (".55/.72", ".87/.29", LOST, ".50/.87", ".63/.62", ".87/.34"),
    "ESSLLI verbs, 9 classes": (".51/.45", ".55/.43", LOST, ".37/.66", ".51/.45", ".51/.49"),
    "ESSLLI verbs, 5 classes": (".57/.58", ".53/.62", LOST, ".42/.82", ".48/.65", ".53/.65"),
}
#: The 44 concrete nouns of ESSLLI 2008, as the thesis prints them: 38 in Table 3.7, sorted into their classes by
#: Table 3.6 and section 3.3.1, and the six that it left out (peacock, snail, pineapple, scissors, kettle, chisel).
CONCRETE = {
    "bird-animal": "chicken duck eagle owl peacock penguin swan",
    "ground-animal": "cat cow dog elephant lion pig snail turtle",
    "fruit-vegetable": "banana cherry pear pineapple",
    "green-vegetable": "corn lettuce mushroom onion potato",
    "tool-artifact": "bottle bowl chisel cup hammer kettle knife pen pencil scissors screwdriver spoon telephone",
    "vehicle-artifact": "boat car helicopter motorcycle rocket ship truck",
}
#: Battig has 56 categories, many of proper names and multiword items; of the largest ones, so many.
_LARGEST = 10


def categorisation(setting: Setting) -> str:
    """Purity and entropy of complete-linkage clusters."""
    folder = setting.data / "word_similarity" / "vecto" / "word-categorization"
    sets = category_sets(folder)
    models = [(structure, n) for structure in STRUCTURES for n in setting.sizes]
    results: dict[tuple[str, str, int], CategorisationResult] = {}
    rows = []
    for name, (pairs, pos) in sets.items():
        cells: list[str | None] = []
        for structure, n in models:
            found = vectors(setting, structure, n)
            words, gold = zip(*pairs)
            result = categorise(found, words, gold, find=lookup(found, pos))
            results[name, structure, n] = result
            place = STRUCTURES.index(structure) * len(SIZES) + SIZES.index(n)
            cells += [
                PUBLISHED[name][place] if name in PUBLISHED else None,
                f"{short(result.purity)}/{short(result.entropy)}",
            ]
        known = results[name, *models[0]]
        rows.append([name, f"{len(known.words)} of {len(pairs)}", len(known.categories), *cells])
    header = ["set", "words", "categories"]
    for structure, n in models:
        header += [f"{structure} {n}, thesis", "ours"]
    note = (
        "Purity (higher is better) / entropy (lower is better), Hellinger, complete linkage, cut at the number of "
        "categories. The concrete nouns of ESSLLI are those that the thesis prints. Its set of concrete and abstract "
        "nouns is printed only in part, so Table 3.8 is not measured. AP, Battig (its ten largest categories of common "
        "nouns) and the concepts of BLESS have no published numbers. Words without a vector of the right part of "
        "speech are left out (of the concrete nouns the thesis left out 6, so its sample has 38)."
    )
    claims = [
        (
            f"trees are purer than chains on {name} ({setting.sizes[0]} classes)",
            results[name, "tree", setting.sizes[0]].purity > results[name, "chain", setting.sizes[0]].purity,
        )
        for name in sets
    ]
    for name, numbers in PUBLISHED.items():
        n = setting.sizes[0]
        if numbers[0] != LOST:
            ours, theirs = results[name, "tree", n].purity, float(numbers[0].split("/")[0])
            claims.append(
                (f"tree {n} on {name} is within .07 of the published purity", abs(ours - theirs) <= 0.07)
            )
    return (
        section("Categorisation (chapter 3)", note, header, rows) + verdict(claims) + _linkages(setting, sets)
    )


def _linkages(setting: Setting, sets: Mapping[str, tuple[list[tuple[str, str]], str]]) -> str:
    """Section 3.3: complete linkage against single and average linkage."""
    rows, ahead, means = [], 0, dict.fromkeys(LINKAGES, 0.0)
    models = [(structure, n) for structure in STRUCTURES for n in setting.sizes]
    for name, (pairs, pos) in sets.items():
        words, gold = zip(*pairs)
        cells = []
        for linkage in LINKAGES:
            purities = []
            for structure, n in models:
                found = vectors(setting, structure, n)
                result = categorise(found, words, gold, find=lookup(found, pos), linkage=linkage)
                purities.append(result.purity)
            cells.append(sum(purities) / len(purities))
            means[linkage] += cells[-1] / len(sets)
        ahead += cells[0] >= max(cells[1:])
        rows.append([name, *map(short, cells)])
    rows.append(["mean", *map(short, means.values())])
    return (
        "\n### Linkage (section 3.3)\n\nPurity, mean over the models of the table above.\n\n"
        + table(["set", *LINKAGES], rows)
        + f"\nThe thesis: complete linkage is better than the others. It is not behind either on {ahead} of "
        f"{len(sets)} sets.\n"
    )


def category_sets(folder: Path) -> dict[str, tuple[list[tuple[str, str]], str]]:
    """Words with their categories, and their part of speech."""
    verbs = folder / "essli-2008.csv"
    battig = [
        (word, category)
        for word, category in read_categories(folder / "battig.csv")
        if not any(proper in category for proper in ("name", "college", "city", "country", "state"))
    ]
    largest = {name for name, _ in Counter(category for _, category in battig).most_common(_LARGEST)}
    concrete = [(word, both.split("-")) for both, words in CONCRETE.items() for word in words.split()]
    return {
        "ESSLLI concrete nouns, 6 classes": ([(word, classes[0]) for word, classes in concrete], "NOUN"),
        "ESSLLI concrete nouns, 3 classes": ([(word, classes[1]) for word, classes in concrete], "NOUN"),
        "ESSLLI verbs, 9 classes": (read_categories(verbs, level=0), "VERB"),
        "ESSLLI verbs, 5 classes": (read_categories(verbs, level=1), "VERB"),
        "AP": (read_categories(folder / "ap.csv"), "NOUN"),
        "Battig, largest": ([pair for pair in battig if pair[1] in largest], "NOUN"),
        "BLESS concepts": (read_categories(folder / "bless.csv"), "NOUN"),
    }
