"""Grave (2014), sections 3.2 and 3.3: similarities of words against people's, and which relations they reflect."""

from __future__ import annotations

from typing import Any

from grave_common import LOST, STRUCTURES, Setting, section, short, table, verdict
from grave_models import transition, vectors

from spinney.evaluate import (
    Measure,
    bless_boxes,
    bless_precision_recall,
    cross_pos,
    read_bless,
    read_word_pairs,
    word_similarity,
)

SIZES = (128, 256, 512)
#: |Pearson| for 128, 256 and 512 classes, trees before chains.
PUBLISHED: dict[Measure, tuple[str, ...]] = {
    "cosine": (".34", ".35", ".33", ".35", ".33", ".36"),
    "kl": (".34", ".38", ".39", ".31", ".32", ".35"),
    "chi2": (".37", ".38", ".38", ".39", ".39", ".39"),
    "jensen_shannon": (".37", ".38", ".39", ".40", ".39", ".40"),
    "hellinger": (".37", ".39", ".40", ".40", ".39", ".40"),
}
PUBLISHED_SPLIT = {
    "similar": (LOST,) * 6,
    "related": (".22", ".23", ".20", ".24", ".22", ".21"),
}
NAMES = {"kl": "KL", "chi2": "χ²", "jensen_shannon": "Jensen–Shannon", "hellinger": "Hellinger"}
NAMES |= {name: f"{name} (Agirre 2009), Hellinger" for name in PUBLISHED_SPLIT}
RELATIONS = ("coord", "hyper", "mero", "attri", "event", "random-n", "random-j", "random-v")


def word_pairs(setting: Setting) -> str:
    """WordSim353 by measure, structure and number of classes, and its split."""
    folder = setting.data / "word_similarity" / "mfaruqui"
    sets = {name: read_word_pairs(folder / f"EN-WS-353-{name}.txt") for name in ("ALL", "SIM", "REL")}
    models = [(structure, n) for structure in STRUCTURES for n in setting.sizes]
    found = {(s, n): vectors(setting, s, n) for s, n in models}
    scores: dict[Any, dict[str, Any]] = {}
    for model in models:
        for measure in PUBLISHED:
            scores[measure, model] = word_similarity(found[model], sets["ALL"], measure)
        for name, pairs in (("similar", sets["SIM"]), ("related", sets["REL"])):
            scores[name, model] = word_similarity(found[model], pairs)
    rows = []
    published_rows: list[tuple[str, tuple[str, ...]]] = [*PUBLISHED.items(), *PUBLISHED_SPLIT.items()]
    for row, numbers in published_rows:
        cells = []
        for structure, n in models:
            published = numbers[STRUCTURES.index(structure) * len(SIZES) + SIZES.index(n)]
            cells += [published, short(abs(scores[row, (structure, n)]["pearson"]))]
        rows.append([NAMES.get(row, row), *cells])
    one = scores["hellinger", models[0]]
    note = (
        f"|Pearson|; {one['n']} of {one['pairs']} pairs have vectors for both words (coverage "
        f"{100 * one['coverage']:.0f} %), and our text is far smaller than the thesis's, and of other kinds. KL with "
        "a floor of 1e-10."
    )
    header = ["measure"]
    for structure, n in models:
        header += [f"{structure} {n}, thesis", "ours"]
    first = {measure: abs(scores[measure, models[0]]["pearson"]) for measure in PUBLISHED}
    claims = [
        ("Hellinger is not behind cosine (first model)", first["hellinger"] >= first["cosine"]),
        (
            "Hellinger, Jensen–Shannon and χ² are within 0.03 of each other (first model)",
            max(abs(first["hellinger"] - first[m]) for m in ("jensen_shannon", "chi2")) <= 0.03,
        ),
        (
            "similarity is captured far better than relatedness, by all models",
            all(scores["similar", m]["pearson"] > scores["related", m]["pearson"] + 0.05 for m in models),
        ),
        (
            "trees and chains are within 0.05 of each other (Hellinger)",
            all(
                abs(
                    scores["hellinger", ("tree", n)]["pearson"] - scores["hellinger", ("chain", n)]["pearson"]
                )
                <= 0.05
                for n in setting.sizes
            ),
        ),
    ]
    return section("WordSim353 (chapter 3)", note, header, rows) + verdict(claims)


def bless(setting: Setting) -> str:
    """BLESS: medians of standardised scores by relation, and average precision, with and without transforms."""
    file = setting.data / "word_similarity" / "vecto" / "semantic-relation" / "bless.csv.xz"
    pairs = read_bless(file)
    boxes: dict[tuple[str, bool], dict[str, float]] = {}
    rows, precision = [], {}
    entered: dict[str, Any] = {}
    for structure in STRUCTURES:
        found = vectors(setting, structure, setting.largest)
        moves = cross_pos(transition(setting, structure, setting.largest), structure)
        for transform in (None, moves):
            entered = bless_boxes(found, pairs, transform=transform)
            medians = {name: entered["quartiles"][name][2] for name in RELATIONS}
            boxes[structure, transform is not None] = medians
            name = f"{structure} {setting.largest}{', with T' if transform else ''}"
            rows.append([name, *(f"{medians[relation]:+.2f}" for relation in RELATIONS)])
    for n in setting.sizes:
        for structure in STRUCTURES:
            found = vectors(setting, structure, n)
            moves = cross_pos(transition(setting, structure, n), structure)
            precision[structure, n] = [
                bless_precision_recall(found, pairs, transform=how)["average_precision"]
                for how in (None, moves)
            ]
    note = (
        f"Median over {entered['concepts']} concepts of the standardised similarity of the closest word of each "
        f"relation; {100 * entered['coverage']:.0f} % of {entered['pairs']:,} pairs have vectors. This copy of BLESS "
        "has lost the parts of speech of random words; they are those under which our vocabulary has them. The "
        "thesis has box plots: coord ≫ hyper, mero > random-n > attri, event; with T, attri and event rise above "
        "the random ones."
    )
    result = section("BLESS (chapter 3)", note, ["model", *RELATIONS], rows)
    result += (
        "\nAverage precision, related before random (thesis: trees beat chains, more classes are better):\n\n"
    )
    result += table(
        ["model", "as they are", "with T"],
        [[f"{s} {n}", *map(short, both)] for (s, n), both in precision.items()],
    )
    claims = []
    for structure in STRUCTURES:
        plain, moved = boxes[structure, False], boxes[structure, True]
        claims += [
            (f"{structure}: co-hyponyms are first", plain["coord"] == max(plain.values())),
            (
                f"{structure}: hypernyms and meronyms before random nouns",
                min(plain["hyper"], plain["mero"]) > plain["random-n"],
            ),
            (
                f"{structure}: random nouns before attributes and events",
                plain["random-n"] > max(plain["attri"], plain["event"]),
            ),
            (
                f"{structure}: with T, attributes and events before all random words",
                min(moved["attri"], moved["event"]) > max(moved[r] for r in RELATIONS if "random" in r),
            ),
            (
                f"{structure}: with T, attributes before random adjectives and events before random verbs",
                moved["attri"] > moved["random-j"] and moved["event"] > moved["random-v"],
            ),
        ]
    trees_ahead = all(precision["tree", n][0] > precision["chain", n][0] for n in setting.sizes)
    claims.append(("trees rank better than chains", trees_ahead))
    if len(setting.sizes) > 1:
        rising = all(precision[s, setting.largest][0] > precision[s, setting.sizes[0]][0] for s in STRUCTURES)
        claims.append(("more classes rank better", rising))
    return result + verdict(claims)
