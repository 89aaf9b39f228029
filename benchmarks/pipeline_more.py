"""More on pipelines: spaCy on two treebanks, English, other parsers, and curves over the number of sentences.

It works in the folder of the benchmark ``pipeline``, whose models it uses.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import spinney
from benchmarks.data import corpus
from benchmarks.harness import publish
from benchmarks.pipeline import (
    METRICS,
    TREEBANKS,
    f1,
    files_of,
    scored,
    spinney_pipeline,
    treebank,
    work_folder,
)
from benchmarks.pipeline_peers import spacy_pipeline
from spinney.corpus.conllu import read_conllu
from spinney.corpus.surface import raw_text
from spinney.evaluate.conll18 import Scores
from spinney.evaluate.significance import f1_of_counts, paired_bootstrap
from spinney.parsing.treecrf import TreeParser

ENGLISH = {"English-EWT": "ud_english_ewt/en_ewt-ud"}
WITH_SPACY = ("Maltese-MUDT", "Hungarian-Szeged")
SIZES = (50, 100, 200, 500)


def main(quick: bool) -> None:
    """Run everything and write the tables; ``quick``: curves of two treebanks, and nothing else."""
    work = work_folder()
    if quick:
        sections = [_curves(work, ["Tamil-TTB", "Maltese-MUDT"])]
    else:
        sections = [
            _curves(work, list(TREEBANKS)),
            _more_text(work),
            _parsers(work),
            _english(work),
            _spacy(work),
        ]
    publish("pipeline_more", sections, [], quick, how="one run each, one thread; CPU seconds")


def _spacy(work: Path) -> str:
    """spaCy on two treebanks."""
    lines = ["### spaCy (CPU, no vectors), from the treebank's tokens (Spinney in brackets)\n"]
    lines += ["| treebank | UPOS | UFeats | Lemmas | UAS | LAS | CPU seconds | MB | tokens a second |"]
    lines += ["|---|" + "---:|" * 8]
    for name in WITH_SPACY:
        stem = TREEBANKS[name]
        ours = treebank(name, stem, work, peer=False)["ours"]
        files = files_of(stem, work)
        gold = list(read_conllu(files["test"]))
        theirs = scored(spacy_pipeline(files, work, stem.rpartition("/")[2]), gold)
        cells = [
            f"{f1(theirs['gold'], metric):.2f} ({f1(ours['gold'], metric):.2f})"
            for metric in ("UPOS", "UFeats", "Lemmas", "UAS", "LAS")
        ]
        cells += [f"{theirs['seconds']:.0f} ({ours['seconds']:.0f})"]
        cells += [f"{theirs['bytes'] / 1e6:.1f} ({ours['bytes'] / 1e6:.1f})"]
        cells += [f"{theirs['tokens_per_second']:,.0f} ({ours['tokens_per_second']:,.0f})"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _english(work: Path) -> str:
    """English EWT, without a peer: the bare command, and with word classes of other text."""
    ((name, stem),) = ENGLISH.items()
    files = files_of(stem, work)
    gold = list(read_conllu(files["test"]))
    lines = [f"### {name}: {sum(1 for _ in read_conllu(files['train'])):,} training sentences\n"]
    lines += ["From the treebank's tokens; the word classes are the Twitter clusters of the data folder.\n"]
    lines += ["| | " + " | ".join(METRICS) + " | CPU seconds | MB | tokens a second |"]
    lines += ["|---|" + "---:|" * (len(METRICS) + 3)]
    tweets = corpus("brown_clusters_twitter", "6mpaths.xz")
    for told, mark, options in (
        ("the bare command", "", []),
        ("with word classes", "-tweets", ["--word-classes", f"tweets={tweets}"]),
    ):
        model = work / f"{stem.rpartition('/')[2]}{mark}.spinney"
        found = spinney_pipeline(files, model, gold, *options)
        cells = [f"{f1(found['gold'], metric):.2f}" for metric in METRICS]
        cells += [f"{found['seconds']:.0f}", f"{found['bytes'] / 1e6:.1f}"]
        cells += [f"{found['tokens_per_second']:,.0f}"]
        lines.append(f"| {told} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


#: Parsers that are compared: what they are called, and their settings.
PARSERS: dict[str, dict[str, Any]] = {
    "first order": {"order": 1},
    "second order": {"order": 2},
    "second order, ridge": {"order": 2, "penalty": "l2"},
}


def _parsers(work: Path) -> str:
    """First order, second order, and second order under a ridge: on the dev files, with the pipelines' own tags."""
    kept = work / "parsers.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    lines = ["### Parsers: LAS on the dev files from predicted tags (thousands of weights other than 0)\n"]
    lines += ["Learned from true tags at the usual strengths (elastic net 0.5, ridge 3), ten passes.\n"]
    lines += ["| treebank | " + " | ".join(PARSERS) + " |", "|---|" + "---:|" * len(PARSERS)]
    for name, stem in TREEBANKS.items():
        files = files_of(stem, work)
        if len(found.get(name, ())) < len(PARSERS):
            pipeline = spinney.load(work / f"{stem.rpartition('/')[2]}.spinney")
            train, dev = list(read_conllu(files["train"])), list(read_conllu(files["dev"]))
            tagged = [
                replace(one, heads=own.heads, deprels=own.deprels)
                for one, own in zip(pipeline.annotate(dev, until="lemmas", threads=1), dev)
            ]
            found[name] = []
            for settings in PARSERS.values():
                parser = TreeParser.train(train, solver="adagrad", threads=1, **settings)
                found[name].append([100 * parser.score(tagged), parser.facts["active"] / 1000])
            kept.write_text(json.dumps(found))
        lines.append(f"| {name} | " + " | ".join(f"{las:.2f} ({n:,.0f})" for las, n in found[name]) + " |")
    means = np.mean([found[name] for name in TREEBANKS], axis=0)
    cells = " | ".join(f"**{las:.2f} ({n:,.0f})**" for las, n in means)
    return "\n".join([*lines, f"| **mean** | {cells} |"]) + "\n"


def _raw_text(files: dict[str, Path], work: Path) -> Path:
    """The text of the training and the dev file, without any annotation."""
    raw = work / f"{files['train'].stem}.txt"
    if not raw.exists():
        text = [raw_text(list(read_conllu(files[part]))) for part in ("train", "dev")]
        raw.write_text("\n\n".join(text), encoding="utf-8")
    return raw


class Found(NamedTuple):
    """What a pipeline of some training sentences is worth on the test file."""

    told: str  # LAS (UPOS)
    scores: Scores
    raw_words: int

    @property
    def las(self) -> float:
        return f1(self.scores, "LAS")


def _scores(name: str, n: int, work: Path, raw: dict[str, Path] | None = None) -> Found:
    """Scores on the test file of a pipeline that was learned from the first n sentences."""
    files, stem = files_of(TREEBANKS[name], work), TREEBANKS[name].rpartition("/")[2]
    gold = list(read_conllu(files["test"]))
    options = ["--limit", str(n), *(part for file in (raw or {}).values() for part in ("--raw", str(file)))]
    model = work / "-".join([stem, str(n), *(raw or {})])
    scores = spinney_pipeline(files, model.with_name(f"{model.name}.spinney"), gold, *options)["gold"]
    facts = spinney.load(model.with_name(f"{model.name}.spinney")).facts
    used = facts.get("raw_text_on_dev", {"with": 0, "without": 0})
    mark = "" if used["with"] >= used["without"] else "°"
    told = f"{f1(scores, 'LAS'):.2f} ({f1(scores, 'UPOS'):.2f}){mark}"
    return Found(told, scores, facts.get("raw_tokens", 0))


def _difference(less: Scores, more: Scores) -> str:
    """The difference in LAS of two pipelines, with its interval."""
    one = paired_bootstrap(less.items_of("LAS"), more.items_of("LAS"), f1_of_counts, random_state=0)
    return f"{100 * one.difference:+.2f} [{100 * one.low:+.2f}, {100 * one.high:+.2f}]"


def _curves(work: Path, names: list[str]) -> str:
    """LAS and UPOS by the number of training sentences, with and without the text of all other training sentences."""
    lines = ["### Learning curves: LAS (UPOS) on the test files, from the treebank's tokens\n"]
    lines += ["The raw text is that of the training file and of the dev file, without its annotation."]
    lines += ["°: what it gave was left out, since the dev file is tagged better without it.\n"]
    lines += ["| treebank | words of raw text | " + " | ".join(f"{n} sentences" for n in SIZES) + " |"]
    lines += ["|---|---:|" + "---:|" * len(SIZES)]
    means: dict[str, list[list[float]]] = {"without": [], "with": []}
    gains = ["", "LAS with raw text − LAS without, and its 95 % interval:\n"]
    gains += [f"| treebank | {' | '.join(f'{n} sentences' for n in SIZES)} |", "|---|" + "---:|" * len(SIZES)]
    for name in names:
        raw = {"raw": _raw_text(files_of(TREEBANKS[name], work), work)}
        both = {what: [_scores(name, n, work, given) for n in SIZES] for what, given in zip(means, ({}, raw))}
        for what, found in both.items():
            lines.append(
                f"| {name} | {found[0].raw_words:,} | " + " | ".join(one.told for one in found) + " |"
            )
            means[what].append([one.las for one in found])
        cells = [_difference(less.scores, more.scores) for less, more in zip(both["without"], both["with"])]
        gains.append(f"| {name} | " + " | ".join(cells) + " |")
    for what, rows in means.items():
        row = " | ".join(f"**{one:.2f}**" for one in np.mean(rows, axis=0))
        lines.append(f"| **mean LAS, {what}** | | {row} |")
    return "\n".join([*lines, *gains]) + "\n"


def _more_text(work: Path) -> str:
    """Text from elsewhere: files ``raw/STEM.txt`` of the work folder, if `benchmarks.pipeline_text` has made any."""
    lines = [
        "### Text from elsewhere: LAS (UPOS) on the test files, from the treebank's tokens, 200 sentences\n"
    ]
    lines += ["| treebank | words of raw text | without | with | difference in LAS, 95 % interval |"]
    lines += ["|---|---:|---:|---:|---:|"]
    there = {name: work / "raw" / f"{stem.rpartition('/')[2]}.txt" for name, stem in TREEBANKS.items()}
    for name, file in there.items():
        if file.exists():
            both = {"raw": _raw_text(files_of(TREEBANKS[name], work), work), "more": file}
            less, more = _scores(name, 200, work), _scores(name, 200, work, both)
            cells = [f"{more.raw_words:,}", less.told, more.told, _difference(less.scores, more.scores)]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 3 else ""
