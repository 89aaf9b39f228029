"""Every method of the five works, reached from the command line: a command or more for each, and a line of its output.

    python replication/commands.py [--only ITEM ...] [--work FOLDER] [--out FILE]

The commands are run by ``spinney`` in a folder of small samples, in this order; some read models of others before them.
A row holds if its command ends with code 0 and prints a line like the one expected. Samples are cut from the data sets
under SPINNEY_DATA. A run of all rows is kept in results/commands.md; one of a few (``--only``) is printed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from commands_samples import write_samples
from studies import RESULTS, keep

from spinney.errors import SpinneyError

#: Characters of a line of the output: tables of commands are as wide as that, longer lines are cut.
WIDTH = 160


class Row(NamedTuple):
    """An item of a work, a command for it, and a regular expression of the line that shows what the command did."""

    item: int
    about: str
    command: str
    line: str
    needs: str = ""  # a package that Spinney does without


class Outcome(NamedTuple):
    """Whether a row holds, and the line found or what went wrong."""

    holds: bool
    told: str


# -- the rows -------------------------------------------------------------------------------------------------------

GRAVE = [
    Row(1, "trees with relations",
        "spinney classes fit x.conllu --tree --method hmm --typed 8 --words lemma+upos --classes 24 --model "
        "tree.spinney", r"^kinds of edges 9"),
    Row(1, "trees with relations",
        "spinney classes inspect tree.spinney --relation nsubj", r"^Transitions of nsubj"),
    Row(2, "random start, sentences shuffled",
        "spinney classes fit x.txt --method hmm --classes 16 --init uniform --shuffle sentences --model "
        "uniform.spinney", r"^log-likelihood per token -\d"),
    Row(3, "best pass under patience",
        "spinney classes fit few.txt --method hmm --classes 32 --passes 20 --patience 1 --dev dev.txt --model "
        "patient.spinney", r"^best pass on held-out text \d+"),
    Row(4, "k-best and epsilon together",
        "spinney classes fit x.txt --method hmm --classes 24 --k-best 8 --epsilon 0.01 --model sparse.spinney",
        r"^log-likelihood per token -\d"),
    Row(4, "k-best and epsilon together",
        "spinney classes fit few.txt --method hmm --classes 24 --k-best 8 --epsilon 0.01 --json --model few.spinney",
        r'"support": [1-8](\.\d+)?,'),
    Row(5, "tokens on the map",
        'spinney classes plot tree.spinney map.png --context dev.conllu --tokens "time|NOUN"',
        r"^Wrote map\.png", "matplotlib"),
    Row(6, "words by part of speech",
        "spinney classes neighbours tree.spinney time", r"^Classes of time\|NOUN"),
    Row(6, "words by part of speech",
        "spinney classes inspect tree.spinney --word time", r"^Classes of time\|NOUN"),
    Row(7, "BLESS by relation",
        "spinney classes eval tree.spinney --bless bless.csv",
        r"^BLESS: \d+ concepts, .*medians by relation"),
    Row(8, "phrases and clauses",
        "spinney classes eval tree.spinney --composition phrases.txt", r"^t-mult -?\d"),
    Row(8, "phrases and clauses",
        "spinney classes eval tree.spinney --composition ELLDIS.txt", r"^t-mult -?\d"),
    Row(9, "deviance", "spinney classes eval tree.spinney --deviance judged.txt", r"^judged\.txt -?\d"),
    Row(10, "categories",
        "spinney classes eval tree.spinney --categories ap.csv --clusters --linkage average",
        r"^Dendrogram: ap\.csv"),
    Row(10, "categories",
        "spinney classes plot tree.spinney dendro.svg --what dendrogram",
        r"^Wrote dendro\.svg", "matplotlib"),
    Row(11, "Hellinger features",
        "spinney classes apply tree.spinney dev.conllu --what both --roots --top 3",
        r"\d+:[\d.]+\|w\d+:[\d.]+\|w"),
    Row(12, "supersense tagging",
        "spinney classes apply sparse.spinney senses.txt --format columns --what both --roots --before-label -o "
        "senses.tsv", r"^\S+ \d+:[\d.]+\|.*w\d+:[\d.]+.* (noun|verb)\.\w+$"),
    Row(12, "supersense tagging",
        "spinney classes apply sparse.spinney more-senses.txt --format columns --what both --roots --before-label -o "
        "more-senses.tsv", r"^\S+ \d+:[\d.]+\|.*w\d+:[\d.]+.* (noun|verb)\.\w+$"),
    Row(12, "supersense tagging",
        "spinney classify fit senses.tsv --no-header --text 1 --label 2 --labels _= --features values --loss "
        "squared-hinge --penalty l2 --lam 1 --model senses.spinney", r"^penalty ℓ2²"),
    Row(12, "supersense tagging",
        "spinney classify eval senses.spinney more-senses.tsv --no-header --text 1 --label 2 --on-error skip",
        r"^accuracy 0\.\d"),
]  # fmt: skip

SOKOLOVSKA = [
    Row(13, "ρ by cross-validation",
        "spinney tag fit train.col --preset chunk --penalty elasticnet --l2s 0.001,0.1 --cv 3 --model net.spinney",
        r"^strength chosen λ = .* pairs with l2 of 0\.001, 0\.1"),
    Row(14, "prune with margins and orphans",
        "spinney tag prune net.spinney test.col --thresholds 0.1,0.5 --margin 2", r"^threshold .*orphans"),
    Row(15, "blocks of SBCD",
        "spinney tag fit sounds.data --format nettalk --penalty elasticnet --lam 0.5 --l2 0.1 --solver sbcd "
        "--solver-options blocks=observation --model sbcd.spinney", r"^active \d"),
    Row(16, "selection",
        "spinney tag fit train.col --preset chunk --select mi --select-top 5000 --lam 1 --model mi.spinney",
        r"^chosen before the fit 5,000 of [\d,]+ weights, by mutual information"),
    Row(16, "selection",
        "spinney tag fit train.col --preset chunk --select gain --select-top 500 --lam 1 --model gain.spinney",
        r"^chosen before the fit 500 of [\d,]+ observations, by information gain"),
    Row(17, "weighting criteria, clusters",
        "spinney tag fit train.col --preset chunk --criterion weighted --clusters 20 --unlabelled unlabelled.col "
        "--lam 1 --model weighted.spinney", r"^weighted [\d.]+ [\d.]+ 0\.\d"),
    Row(17, "weighting criteria, clusters",
        "spinney classify fit science.csv --criterion weighted --clusters 20 --criterion-strength 0.5 --unlabelled "
        "unlabelled.csv --lam 0.1 --model weighted-texts.spinney",
        r"unlabelled documents used by the criterion weighted at 0\.5; effective sample \d"),
    Row(18, "HMM with unlabelled text",
        "spinney tag fit train.pos --method hmm --unlabelled more.pos --passes 1 --model hmm.spinney",
        r"^EM 1 pass over 400 unlabelled sentences"),
    Row(19, "negative weights", "spinney tag inspect net.spinney --by label", r"[Ss]trongest against"),
    Row(20, "conjunctions of features",
        "spinney tag fit train.col --patterns pairs.txt --lam 0.1 --model pairs.spinney",
        r"^observations \d"),
    Row(20, "conjunctions of features",
        "spinney tag inspect pairs.spinney --by pattern --top 2",
        r"^U:%x\[-1,1\]/%x\[0,1\]/%lower\[0,0\] U:\S+/\S+ → "),
]  # fmt: skip

SPECTRAL = [
    Row(21, "n-gram counts",
        "spinney embed fit 3gm.txt --ngrams --window 1 --dimensions 20 --model trigrams.spinney",
        r"^lines of n-grams \d"),
    Row(22, "dependency contexts with subwords",
        "spinney embed fit x.conllu --tree --typed 8 --positional --subwords 2000 --dimensions 50 --model "
        "tree-words.spinney", r"^contexts heads and dependents"),
    Row(23, "two-step CCA, LR-MVL",
        "spinney embed fit x.txt --method tscca --positional --transform sqrt --dimensions 30 --model tscca.spinney",
        r"^method tscca"),
    Row(23, "two-step CCA, LR-MVL",
        "spinney embed fit x.txt --method lrmvl --pseudo 1 --dimensions 30 --model lrmvl.spinney",
        r"^method lrmvl"),
    Row(24, "HMM parameters",
        "spinney embed fit x.txt --method hmm --states 8 --recover tensor --model states.spinney",
        r"^states 8"),
    Row(24, "HMM parameters",
        "spinney embed inspect states.spinney --top 5",
        r"hidden states, with probabilities of words and next states"),
    Row(25, "pair mixtures",
        "spinney classes fit x.txt --method pairs --classes 16 --min-count 2 --model pairs-em.spinney",
        r"^perplexity \d"),
    Row(26, "refinement HMM",
        "spinney tag fit train.pos --method refinement --states 4 --model refined.spinney",
        r"^hidden states per label 4"),
    Row(26, "refinement HMM", "spinney tag eval refined.spinney test.pos", r"^token error 0\.\d"),
    Row(27, "m by label, and EM after",
        "spinney parse fit train.mrg --method spectral --states auto --polish 5 --dev dev.mrg --model auto.spinney",
        r"^chosen on held-out trees states \d+, .*states of @?[A-Z]+ \d"),
    Row(27, "m by label, and EM after",
        "spinney parse fit train.mrg --method spectral --states 4 --rule-smoothing 10 --word-smoothing 2 --polish 5 "
        "--dev dev.mrg --model polished.spinney", r"^step 5: F1 \d"),
    Row(28, "smoothing",
        "spinney parse fit train.mrg --method spectral --states 8 --rule-smoothing 10 --word-smoothing 2 --dev "
        "dev.mrg --model smooth.spinney", r"^chosen on held-out trees cutoff"),
    Row(28, "smoothing",
        "spinney parse fit train.mrg --method spectral --states 8 --dev dev.mrg --model chosen.spinney",
        r"^chosen on held-out trees rule_smoothing \d"),
    Row(29, "re-ranking",
        "spinney parse fit few.conllu --method automata --states 4 --rerank 5 --model ranked.spinney",
        r"^trees to choose from 5"),
    Row(30, "two-view CCA, canonical and principal regression",  # from Python: it has no words
        "python -c 'from spinney.embed import *; from numpy import *; rng = random.default_rng(0); t = "
        "rng.standard_normal(2000); X, Y = (outer(t, rng.standard_normal(30)) + 5 * rng.standard_normal((2000, 20)) @ "
        "rng.standard_normal((20, 30)) for _ in (1, 2)); fit = lambda model, **views: model.fit(X[:25], t[:25], "
        'X_unlabelled=X, **views).score(X[25:], t[25:]); print("R²: canonical %.3f, principal %.3f" % '
        "(fit(CanonicalRegression(CCA(30)), Y_unlabelled=Y), fit(PrincipalRegression(10))))'",
        r"^R²: canonical 0\.[6-9]\d*, principal -?\d"),
]  # fmt: skip

YOGATAMA = [
    Row(31, "composite norms (r, q)",
        "spinney classify fit science.csv --features counts --penalty l1/linf --groups sentence --lam 0.3 --model "
        "composite.spinney", r"^penalty composite ℓ1/ℓ∞, [\d,]+ groups"),
    Row(32, "ADMM and v_g",
        "spinney classify fit science.csv --features counts --penalty overlap --groups sentence --lam 0.3 --l1 0.3 "
        "--solver admm --rho 10 --change-tol 0.001 --model admm.spinney",
        r"^groups · sentence [\d,]+ selected, [\d,]+ removed"),
    Row(32, "ADMM and v_g",
        "spinney classify inspect admm.spinney --top 3",
        r"^[\d,]+ groups selected, [\d,]+ removed, by the copies v_g of ADMM"),
    Row(33, "structure as features",
        "spinney classify fit science.csv --features counts --group-features lda:10 --topic-passes 20 --penalty l1 "
        "--lam 1 --model features.spinney", r"^features \d"),
    Row(33, "structure as features", "spinney classify inspect features.spinney", r"lda: topic \d"),
    Row(34, "families of groups",
        "spinney classify fit science.csv --features counts --dev science-dev.csv --tune grid --space "
        '"groups=sentence|document;l1=0.01;l2=0.1;lam_ratio=0.1,0.03" --model families.spinney',
        r"^tuning · chosen · groups (sentence|document)$"),
    Row(34, "families of groups",
        "spinney classify fit science.csv --features counts --dev science-dev.csv --tune optuna --trials 4 --space "
        '"groups=sentence|document;l1=0.01;l2=0.1;lam_ratio=0.03..0.1" --model bayesian.spinney',
        r"^tuning · search optuna", "optuna"),
    Row(35, "several resolutions",
        "spinney trend fit sotu.csv --every 1,5,10 --method ridge-ts --model chosen-years.spinney",
        r"^Resolution \d+ was chosen from 1 \([\d.]+\), 5 \([\d.]+\) and 10 \([\d.]+\) by nats per word"),
    Row(36, "settings of the prior",
        "spinney trend fit sotu.csv --every 10 --covariates party --shared --kappa-sign positive --floor 1 --l1 0.01 "
        "--model prior.spinney", r"^active series \d"),
    Row(37, "t-SNE; sentence completion",
        "spinney embed fit ptb.txt --dimensions 30 --model words30.spinney", r"^dimensions 30"),
    Row(37, "t-SNE; sentence completion",
        "spinney embed plot words30.spinney tsne.png --what tsne --runs 2 --words "
        "company,stock,market,he,they,of,in,said,says", r"^Wrote tsne\.png", "matplotlib"),
    Row(37, "t-SNE; sentence completion",
        "spinney embed eval words30.spinney --completion gaps.tsv", r"^accuracy [01]"),
    Row(38, "topics to convergence, function words",
        "spinney classify fit science.csv --features counts --groups lda:10 --lam 0.1 --model topics.spinney",
        r"lda: 10 groups of 10 topics; [1-9]\d* function words and words in more than a tenth"),
    Row(38, "topics to convergence, function words",
        "spinney classify fit science.csv --features counts --groups lda:10 --function-words --topic-words 5 --lam "
        "0.1 --model topics-all.spinney",
        r"lda: 10 groups of 10 topics; 0 function words and words in more than a tenth"),
]  # fmt: skip

NELAKANTI = [
    Row(39, "laws of depth, weights of groups, start at zero",
        "spinney lm fit ptb-small.txt --method loglinear --order 3 --law log --group-factor 0.9 --start zero --dev "
        "ptb-dev.txt --model loglinear.spinney", r"^held-out perplexity \d"),
    Row(40, "discounts by order",
        "spinney lm fit ptb.txt --method kn --order 3 --discount 0.5,0.7,0.8 --model kn.spinney",
        r"^3 [\d,]+ [\d,]+ 0\.800"),
    Row(41, "one λ for each node of a tree",
        "spinney classify fit news.csv --method tree --policy indep --cv 3 --delta 1 --no-exact --model nodes.spinney",
        r"^smallest λ of a node \d"),
    Row(42, "tree over outputs",
        "spinney classify fit news.csv --penalty tree-output --class-tree spec --lam 0.3 --tol 0.0001 --model "
        "outputs.spinney", r"^penalty tree of outputs, \d+ nodes for each of [\d,]+ features"),
    Row(43, "taxonomy of words",
        "spinney lm fit ptb-small.txt --method hierarchical --order 2 --tree taxonomy --tol 0.001 --model "
        "taxonomy.spinney", r"^tree [\d,]+ leaves, at most \d+ decisions"),
]  # fmt: skip

WORKS = {
    "Grave": GRAVE,
    "Sokolovska": SOKOLOVSKA,
    "Spectral": SPECTRAL,
    "Yogatama": YOGATAMA,
    "Nelakanti": NELAKANTI,
}
ROWS = [row for rows in WORKS.values() for row in rows]


# -- the run --------------------------------------------------------------------------------------------------------


def chosen(items: Collection[int]) -> list[Row]:
    """The rows of some items, and those before them that write what they read."""
    found: list[Row] = []
    wanted: set[str] = set()
    for row in reversed(ROWS):
        if row.item in items or written(row) in wanted:
            found.insert(0, row)
            wanted.update(shlex.split(row.command))
    return found


def written(row: Row) -> str | None:
    """The file that a command names after ``--model`` or ``-o``."""
    words = shlex.split(row.command)
    return next((words[i + 1] for i, word in enumerate(words) if word in ("--model", "-o")), None)


def run(row: Row, folder: Path) -> Outcome:
    """Write the samples that a command names, run it there, and look for its line."""
    program, *words = shlex.split(row.command)
    write_samples(words, folder)
    first = [sys.executable, "-m", "spinney"] if program == "spinney" else [sys.executable]
    ended = subprocess.run(
        [*first, *words], cwd=folder, env=os.environ | {"COLUMNS": str(WIDTH)}, capture_output=True, text=True
    )
    said = ended.stdout + ended.stderr
    if "-o" in words and ended.returncode == 0:
        said += (folder / words[words.index("-o") + 1]).read_text(encoding="utf-8")
    return outcome(row, ended.returncode, said)


def outcome(row: Row, code: int, said: str) -> Outcome:
    """What came of a command that ended with this code and said this."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    if code:
        return Outcome(False, f"ended with code {code}: {lines[-1] if lines else 'nothing said'}")
    for line in lines:
        if found := re.search(row.line, line):
            return Outcome(True, around(line, found))
    return Outcome(False, f"no line like {row.line}")


def around(line: str, found: re.Match[str]) -> str:
    """A line, or of a long one what was found and what is before and after it."""
    if len(line) <= WIDTH:
        return line
    start = max(0, min(found.start() - WIDTH // 2, len(line) - WIDTH))
    cut = line[start : start + WIDTH]
    return f"{'… ' if start else ''}{cut}{' …' if start + WIDTH < len(line) else ''}"


def table_row(row: Row, result: Outcome) -> str:
    """The cells of a row in Markdown."""
    work = next(name for name, rows in WORKS.items() if row in rows)
    told = f"`{result.told}`" if result.holds else f"**fails**: `{result.told}`"
    cells = (work, f"{row.item} {row.about}", f"`{row.command}`", told)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


HEADER = ["| work | item | command | line printed |", "| --- | --- | --- | --- |"]


def report(rows: Sequence[Row], lines: Sequence[str], left_out: Sequence[Row]) -> str:
    """The table of the rows that were run, with what to know about it."""
    about = (
        f"{len(rows)} commands for {len({row.item for row in rows})} items, run on small samples: UD English EWT, "
        "SemCor, CoNLL-2000, two samples of the Penn Treebank, NETtalk, 20 Newsgroups, presidents' addresses, and a "
        "few lines written by hand. Each ended with code 0 and printed the line beside it, or wrote it to the file "
        "after `-o`, unless the row says that it fails. The samples are far too small for the numbers to mean much."
    )
    notes = [
        f"Without the package {row.needs}, item {row.item} was not run: `{row.command}`" for row in left_out
    ]
    return (
        "\n\n".join(["# Every method from the command line", about, "\n".join([*HEADER, *lines]), *notes])
        + "\n"
    )


def main() -> None:
    """Run the rows, and print or keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", type=int, metavar="ITEM", choices={row.item for row in ROWS})
    parser.add_argument("--work", type=Path, help="a folder to keep the samples and models in")
    parser.add_argument("--out", type=Path, default=RESULTS / "commands.md", help="the report")
    arguments = parser.parse_args()
    rows = chosen(arguments.only) if arguments.only else ROWS
    possible = [row for row in rows if not row.needs or find_spec(row.needs)]
    print("\n".join(HEADER))
    lines, failed = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.work or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for row in possible:
                result = run(row, folder)
                failed += not result.holds
                lines.append(table_row(row, result))
                print(lines[-1], flush=True)
        except SpinneyError as error:  # no data
            raise SystemExit(str(error)) from None
    if not arguments.only:
        left_out = [row for row in rows if row not in possible]
        keep(report(possible, lines, left_out), arguments.out)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
