"""The kernels of this installation: where Numba caches them, how many are compiled, and how to compile them all."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any, Final

import spinney
from spinney import progress

_SOURCE: Final = Path(spinney.__file__).parent


def kernel_cache() -> dict[str, Any]:
    """Where compiled kernels are cached, how many of all kernels there are, their size, and how many are out of date.

    Nothing is compiled: kernels are counted in the source code, and compiled ones by the file names of Numba.
    """
    folders = set()
    kernels = compiled = stale = size = 0
    for path in sorted(_SOURCE.rglob("_*kernels.py")):
        known = set(_kernels_in(path))
        kernels += len(known)
        folder = _folder_of(path)
        folders.add(folder)
        for file in folder.glob(f"{path.stem}.*.nb[ci]"):
            size += file.stat().st_size
            named = re.match(rf"{path.stem}\.(\w+)-(\d+)\.py(\d+)\w*\.nbi$", file.name)
            if named is None or named[3] != f"{sys.version_info.major}{sys.version_info.minor}":
                continue
            current = (named[1], int(named[2])) in known and file.stat().st_mtime >= path.stat().st_mtime
            compiled, stale = compiled + current, stale + (not current)
    return {
        "folder": os.path.commonpath(folders),
        "writable": all(os.access(folder, os.W_OK) for folder in folders),
        "kernels": kernels,
        "compiled": compiled,
        "stale": stale,
        "bytes": size,
    }


def _kernels_in(path: Path) -> Iterator[tuple[str, int]]:
    """The name of each kernel of a module, and its first line, which is that of the decorator."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node.name, node.decorator_list[0].lineno


def _folder_of(path: Path) -> Path:
    """Where Numba caches the kernels of a file, found by compiling nothing but a stub that claims to come from it."""
    from numba import njit

    code = _nothing.__code__.replace(co_filename=str(path))
    kernel: Any = njit(cache=True)(FunctionType(code, {"__name__": __name__}))
    return Path(kernel.stats.cache_path)


def _nothing() -> None:
    pass


#: Small commands that together call the kernels of every task, except for a few that only large data need.
_COMMANDS: Final = """
    tag fit roles.col --preset pos --model tag.spinney --max-iter 3
    tag apply tag.spinney roles.col --nbest 2
    tag apply tag.spinney roles.col --decoding posterior
    tag eval tag.spinney roles.col
    tag fit phrases.col --preset chunk --model phrases.spinney --max-iter 3
    tag apply phrases.spinney phrases.col --phrases
    tag eval phrases.spinney phrases.col --decoding f1
    tag fit roles.col --preset pos --model x --max-iter 2 --penalty elasticnet --solver owlqn
    tag fit roles.col --preset pos --model x --max-iter 2 --penalty elasticnet --solver active-set
    tag fit roles.col --preset pos --model x --passes 2 --solver sgd
    tag fit roles.col --preset pos --model x --passes 2 --solver adagrad --penalty elasticnet
    tag fit roles.col --preset pos --model x --max-iter 2 --solver sbcd --penalty elasticnet
    tag fit roles.col --preset pos --model x --max-iter 2 --solver cd --penalty elasticnet
    tag fit roles.col --preset pos --model x --passes 2 --solver perceptron --penalty none
    tag fit roles.col --preset pos --model x --passes 2 --solver pa --penalty none
    tag fit roles.col --preset pos --model x --max-iter 2 --penalty group-pattern
    tag fit roles.col --preset pos --model x --max-iter 2 --penalty tree
    tag fit roles.col --preset pos --model x --max-iter 2 --method memm
    tag fit roles.col --preset pos --model x --max-iter 2 --weights observed
    tag fit roles.col --preset pos --model x --unlabelled roles.col --criterion entropy --criterion-strength 0.1
    tag fit roles.col --model x --method hmm
    tag fit treebank.conllu --model morph.spinney --method morph --passes 2
    tag apply morph.spinney treebank.conllu
    tag eval morph.spinney treebank.conllu
    tag fit sounds.tsv --format cmudict --model x --max-iter 2
    classify fit manual --model doc.spinney --min-count 3
    classify apply doc.spinney manual --proba
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty l2
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty elasticnet --solver fista
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty group --groups pairs.json
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty sparse-group --groups pairs.json
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty group-linf --groups pairs.json
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty l2/l1 --groups pairs.json
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty tree-l2 --groups brown:4
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty tree-linf --groups brown:4 --lam-ratio 0.5
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty latent --groups sentence
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty tree-output --class-tree spec --lam 0.1
    classify fit manual --model x --min-count 3 --max-iter 5 --groups sentence
    classify fit manual --model x --min-count 3 --max-iter 5 --groups sentence --loss squared-hinge --lam 0.01
    classify fit manual --model x --min-count 3 --max-iter 5 --groups sentence --solver admm
    classify fit manual --model x --min-count 3 --max-iter 5 --penalty fused --lam-ratio 0.5
    classify fit manual --model x --min-count 3 --max-iter 5 --method tree --class-tree spec
    classify fit manual --model x --min-count 3 --max-iter 5 --method tree --class-tree diff
    classify fit numbers.csv --model x --min-count 3 --max-iter 5 --regression --label y
    classify fit numbers.csv --model x --min-count 3 --max-iter 5 --regression --label y --penalty pairwise
    classify fit numbers.csv --model x --max-iter 5 --regression --label y --penalty group --groups pairs.json
    classify fit numbers.csv --model x --min-count 3 --max-iter 5 --regression --label y --groups sentence
    classes fit text.txt --model brown.spinney --classes 6
    classes place brown.spinney few.txt --model x
    classes fit text.txt --model x --classes 6 --method pairs --passes 2 --restarts 1
    classes fit text.txt --model x --classes 6 --method exchange --passes 2
    classes fit text.txt --model x --classes 6 --method exchange --passes 2 --variant predictive
    classes fit text.txt --model hmm.spinney --classes 6 --method hmm --passes 2
    classes fit text.txt --model x --classes 6 --method hmm --passes 2 --k-best 3
    classes apply hmm.spinney few.txt --what viterbi
    classes apply hmm.spinney few.txt --what posterior
    classes fit trees.conllu --model x --classes 6 --tree
    classes fit trees.conllu --model tree.spinney --classes 6 --method hmm --tree --passes 2
    classes apply tree.spinney trees.conllu --what viterbi
    classes apply tree.spinney trees.conllu --what posterior
    embed fit text.txt --model vectors.spinney --dimensions 6 --min-count 3
    embed apply vectors.spinney few.txt
    embed fit text.txt --model x --dimensions 6 --min-count 3 --method tscca
    embed fit text.txt --model x --dimensions 6 --min-count 3 --method lrmvl --variant II --passes 2
    embed fit text.txt --model x --dimensions 6 --min-count 3 --method pmi
    embed fit text.txt --model x --dimensions 13 --min-count 3 --method sparse
    embed fit text.txt --model x --dimensions 13 --min-count 3 --method lasso
    embed fit text.txt --model x --dimensions 13 --min-count 3 --method sparse --coding stochastic --passes 2
    embed fit text.txt --model states.spinney --min-count 3 --method hmm --states 4
    embed apply states.spinney few.txt
    embed fit manual --model topics.spinney --method topics --topics 3 --polish 2
    embed apply topics.spinney manual
    embed fit manual --model topics.spinney --method topics --topics 3 --polish 2 --alpha0 1
    embed apply topics.spinney manual
    lm fit text.txt --model next.spinney
    lm eval next.spinney few.txt
    lm sample next.spinney
    lm export next.spinney next.arpa
    lm import next.arpa --model x
    lm prune next.spinney --entropy 1e-5 --model x
    lm fit text.txt --model x --method jm --dev few.txt
    lm fit text.txt --model x --method katz
    lm fit text.txt --model x --order 3 --memory 1M
    lm fit text.txt --model x --method pitman-yor --sweeps 2
    lm fit text.txt --model memo.spinney --method memoizer --sweeps 2
    lm eval memo.spinney few.txt
    lm fit text.txt --model log.spinney --method loglinear --order 3 --max-iter 3
    lm eval log.spinney few.txt
    lm fit text.txt --model x --method loglinear --order 3 --max-iter 3 --solver fista
    lm fit text.txt --model x --method loglinear --order 3 --max-iter 3 --solver sage
    lm fit text.txt --model x --method loglinear --order unbounded --max-iter 3
    lm fit text.txt --model tree.spinney --method hierarchical --order 3 --max-iter 3
    lm eval tree.spinney few.txt
    lm fit text.txt --model class.spinney --method class --classes brown.spinney
    lm eval class.spinney few.txt
    lm mix next.spinney --cache-words 50 --dev few.txt --model x
    parse fit code.mrg --model grammar.spinney --states 4
    parse apply grammar.spinney code.txt
    parse apply grammar.spinney code.txt --nbest 2
    parse apply grammar.spinney code.txt --what brackets
    parse fit code.mrg --model x --method pcfg --decoder viterbi
    parse apply x code.txt
    parse fit code.mrg --model x --method spectral --states 4
    parse apply x code.txt
    parse fit code.mrg --model x --method em --states 2 --max-iter 2
    parse fit code.mrg --model x --method split-merge --states 2
    parse fit code.mrg --model x --method pivots --states 4
    parse fit trees.conllu --model heads.spinney --method automata
    parse apply heads.spinney trees.conllu
    parse fit trees.conllu --model x --method automata-em --max-iter 2
    parse fit treebank.conllu --model tree.spinney --method tree-crf --max-iter 3
    parse apply tree.spinney treebank.conllu --nbest 2
    parse apply tree.spinney treebank.conllu
    parse fit treebank.conllu --model tree.spinney --method tree-crf --max-iter 3 --order 1 --trees all
    parse apply tree.spinney treebank.conllu
    parse fit treebank.conllu --model x --method tree-crf --passes 2 --solver pa
    pipeline fit treebank.conllu --model pipeline.spinney --lam 0.5 --jackknife 2 --raw text.txt --classes 6
    pipeline apply pipeline.spinney few.txt
    pipeline eval pipeline.spinney treebank.conllu
    trend fit numbers.csv --model x
    trend fit numbers.csv --model x --value y
"""


#: The tasks whose commands use each other's models, those with the most to compile first.
_TOGETHER: Final = (("classify",), ("tag",), ("classes", "lm"), ("embed",), ("parse", "pipeline"), ("trend",))


def compile_all(threads: int | None, seed: int) -> dict[str, Any]:
    """Run small fits of every task, in several processes; how many kernels this compiled, and how long it took.

    The processes fill the cache that later commands use: see :mod:`spinney.kernel_cache`.
    """
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from spinney.parallel import default_threads

    before, start = kernel_cache()["compiled"], time.perf_counter()
    commands = [line.split() for line in _COMMANDS.strip().split("\n")]
    common = ["--quiet", "--seed", str(seed), *(["--threads", str(threads)] if threads else [])]
    groups = [[command for command in commands if command[0] in tasks] for tasks in _TOGETHER]
    failed: list[str] = []
    processes = min(threads or default_threads(), len(groups))
    # New processes, not forks: threads of this one may hold locks.
    with (
        ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool,
        progress.task("compiling", len(commands)) as work,
    ):
        running = {pool.submit(_run, group, common): group for group in groups}
        for done in as_completed(running):
            group = running[done]
            work.update(len(group), note=group[0][0])
            failed += done.result()
    return {
        "kernels": kernel_cache()["compiled"] - before,
        "seconds": time.perf_counter() - start,
        "failed": failed,
    }


def _run(commands: list[list[str]], common: list[str]) -> list[str]:
    """Run commands in a temporary folder of their own; those that failed, with their complaints."""
    from spinney.cli.main import run

    failed = []
    with TemporaryDirectory() as folder, chdir(folder):
        _write_texts(Path())
        for command in commands:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as complaint:
                code = run([*command, *common])
            if code > 128:
                raise KeyboardInterrupt
            if code:
                failed.append(f"{' '.join(command)}: {complaint.getvalue().strip()}")
    return failed


def _write_texts(folder: Path) -> None:
    """A little text in every format that the commands above read."""
    from spinney.corpus import sample_documents, sample_sentences, write_conllu
    from spinney.corpus.code_trees import sample_trees
    from spinney.corpus.sample_treebank import sample_treebank

    sentences = [" ".join(words) for words in sample_sentences()[:300]]
    (folder / "text.txt").write_text("\n".join(sentences), "utf-8")
    (folder / "few.txt").write_text("\n".join(sentences[:20]), "utf-8")
    parsed = (
        "\n".join(
            f"{i}\t{word}\t{word}\tX\tX\t_\t{i // 2}\t{'ab'[i % 2]}\t_\t_" for i, word in enumerate(words, 1)
        )
        for words in sample_sentences()[:60]
    )
    (folder / "trees.conllu").write_text("\n\n".join(parsed) + "\n\n", "utf-8")
    write_conllu(folder / "treebank.conllu", sample_treebank(30))
    trees = sample_trees(["textwrap"])
    (folder / "code.mrg").write_text("\n".join(map(str, trees)), "utf-8")
    (folder / "code.txt").write_text("\n".join(" ".join(tree.leaves()) for tree in trees[:5]), "utf-8")
    labelled = (
        "\n".join(f"{word} {'AB'[i % 2]}" for i, word in enumerate(tree.leaves())) for tree in trees[:20]
    )
    (folder / "roles.col").write_text("\n\n".join(labelled), "utf-8")
    phrases = "\n\n".join("the DT B-NP\ndog NN I-NP\nruns VB O" for _ in range(4))
    (folder / "phrases.col").write_text(phrases, "utf-8")
    (folder / "sounds.tsv").write_text("\n".join(f"{a}{b}  {a} {b}" for a in "ABCD" for b in "EFGH"), "utf-8")
    pairs = [{"members": ["the", "of"]}, {"members": ["is", "be"]}]
    (folder / "pairs.json").write_text(json.dumps({"groups": pairs}), "utf-8")
    with open(folder / "numbers.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "time", "y"])
        for i, document in enumerate(sample_documents()):
            text = document.text[:600]
            place = folder / "manual" / str(document.label)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{document.id}.txt").write_text(text, "utf-8")
            table.writerow([text, 2000 + i % 6, i % 5])
