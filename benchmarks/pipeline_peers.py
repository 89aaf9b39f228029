"""The peers of pipelines, trained on the same files: UDPipe 1 and spaCy, each with its usual settings, on one thread.

What they learned stays in the work folder with the CPU seconds that it took, and is not learned again. Each function
gives these seconds, the bytes of the model, the tokens a second of its application, and its output for the test file:
from the treebank's tokens and, for UDPipe, from its raw text.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from spinney.corpus.conllu import Sentence, read_conllu
from spinney.corpus.surface import raw_text


def udpipe(files: dict[str, Path], work: Path, stem: str) -> dict[str, Any]:
    """UDPipe 1 with its default settings: tokeniser, tagger and parser, dev given."""
    from ufal import udpipe as ud

    model, told = work / f"{stem}.udpipe", work / f"{stem}.udpipe.json"
    if not model.exists() or not told.exists():
        print(f"UDPipe learns from {files['train'].name}", file=sys.stderr, flush=True)
        error = ud.ProcessingError()
        started = time.process_time()
        learned = ud.Trainer.train(
            "morphodita_parsito", _sentences(files["train"]), _sentences(files["dev"]), "", "", "", error
        )
        seconds = time.process_time() - started
        if error.occurred():
            raise RuntimeError(error.message)
        model.write_bytes(
            learned if isinstance(learned, bytes) else learned.encode("utf-8", "surrogateescape")
        )
        told.write_text(json.dumps({"cpu": seconds}))
    loaded = ud.Model.load(str(model))
    text = files["test"].read_text(encoding="utf-8")
    default = ud.Pipeline.DEFAULT
    started = time.process_time()
    tokens = _run(ud, ud.Pipeline(loaded, "conllu", default, default, "conllu"), text)
    seconds = time.process_time() - started
    gold = list(read_conllu(files["test"]))
    raw = _run(ud, ud.Pipeline(loaded, "tokenize", default, default, "conllu"), raw_text(gold))
    return {
        "seconds": json.loads(told.read_text())["cpu"], "bytes": model.stat().st_size,
        "tokens_per_second": sum(map(len, gold)) / seconds, "tokens": tokens, "text": raw,
    }  # fmt: skip


def _sentences(path: Path) -> Any:
    """The sentences of a file as UDPipe holds them."""
    from ufal import udpipe as ud

    reader, found = ud.InputFormat.newConlluInputFormat(), ud.Sentences()
    reader.setText(path.read_text(encoding="utf-8"))
    error, sentence = ud.ProcessingError(), ud.Sentence()
    while reader.nextSentence(sentence, error):
        found.append(sentence)
        sentence = ud.Sentence()
    if error.occurred():
        raise RuntimeError(error.message)
    return found


def _run(ud: Any, pipeline: Any, text: str) -> list[Sentence]:
    error = ud.ProcessingError()
    out = pipeline.process(text, error)
    if error.occurred():
        raise RuntimeError(error.message)
    return _read(out)


def _read(text: str) -> list[Sentence]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.conllu"
        path.write_text(text, encoding="utf-8")
        return list(read_conllu(path))


_CONFIG = (
    """
[paths]
train = null
dev = null
[system]
seed = 0
[nlp]
lang = "xx"
pipeline = ["tok2vec","tagger","morphologizer","trainable_lemmatizer","parser"]
batch_size = 256
[components]
[components.tok2vec]
factory = "tok2vec"
[components.tok2vec.model]
@architectures = "spacy.Tok2Vec.v2"
[components.tok2vec.model.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = 96
attrs = ["NORM","PREFIX","SUFFIX","SHAPE"]
rows = [5000,1000,2500,2500]
include_static_vectors = false
[components.tok2vec.model.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = 96
depth = 4
window_size = 1
maxout_pieces = 3
"""
    + "".join(
        f"""[components.{name}]
factory = "{name}"
[components.{name}.model]
@architectures = "{architecture}"
{more}[components.{name}.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = 96
"""
        for name, architecture, more in (
            ("tagger", "spacy.Tagger.v2", ""),
            ("morphologizer", "spacy.Tagger.v2", ""),
            ("trainable_lemmatizer", "spacy.Tagger.v2", ""),
            (
                "parser",
                "spacy.TransitionBasedParser.v2",
                'state_type = "parser"\nextra_state_tokens = false\nhidden_width = 64\nmaxout_pieces = 2\n'
                "use_upper = true\n",
            ),
        )
    )
    + """
[corpora]
[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}
gold_preproc = true
[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}
gold_preproc = true
[training]
dev_corpus = "corpora.dev"
train_corpus = "corpora.train"
patience = 1600
max_steps = 20000
eval_frequency = 200
[training.optimizer]
@optimizers = "Adam.v1"
[training.batcher]
@batchers = "spacy.batch_by_words.v1"
discard_oversize = false
tolerance = 0.2
[training.batcher.size]
@schedules = "compounding.v1"
start = 100
stop = 1000
compound = 1.001
"""
)


def spacy_pipeline(files: dict[str, Path], work: Path, stem: str) -> dict[str, Any]:
    """spaCy as its quickstart for the CPU has it, without vectors, dev for early stopping; tokens are given."""
    import spacy
    from spacy.tokens import Doc

    folder, told = work / f"{stem}.spacy", work / f"{stem}.spacy.json"
    if not told.exists():
        print(f"spaCy learns from {files['train'].name}", file=sys.stderr, flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        (work / "spacy.cfg").write_text(_CONFIG)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        made = {}
        for part in ("train", "dev"):
            _spacy("convert", str(files[part]), str(work), "--n-sents", "1", "--morphology", env=environment)
            made[part] = work / f"{files[part].stem}.spacy"
        _spacy("init", "fill-config", str(work / "spacy.cfg"), str(work / "filled.cfg"), env=environment)
        _spacy(
            "train", str(work / "filled.cfg"), "--output", str(folder), "--paths.train", str(made["train"]),
            "--paths.dev", str(made["dev"]), env=environment,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told.write_text(json.dumps({"cpu": seconds}))
    best = folder / "model-best"
    nlp = spacy.load(best)
    gold = list(read_conllu(files["test"]))
    documents = [
        Doc(nlp.vocab, words=one.forms, sent_starts=[i == 0 for i in range(len(one))]) for one in gold
    ]
    started = time.process_time()
    found = list(nlp.pipe(documents))
    seconds = time.process_time() - started
    return {
        "seconds": json.loads(told.read_text())["cpu"],
        "bytes": sum(file.stat().st_size for file in best.rglob("*") if file.is_file()),
        "tokens_per_second": sum(map(len, gold)) / seconds,
        "tokens": [_annotated(one, document) for one, document in zip(gold, found)],
    }


def _spacy(*arguments: str, env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-m", "spacy", *arguments], check=True, capture_output=True, env=env)


def _annotated(gold: Sentence, document: Any) -> Sentence:
    """A document of spaCy as a sentence; roots after the first hang on the first."""
    heads = [0 if token.head.i == token.i else token.head.i + 1 for token in document]
    roots = [i for i, head in enumerate(heads) if head == 0]
    for i in roots[1:]:
        heads[i] = roots[0] + 1
    return Sentence(
        gold.forms,
        [token.lemma_ or "_" for token in document],
        [token.pos_ or "_" for token in document],
        [token.tag_ or "_" for token in document],
        [str(token.morph) or "_" for token in document],
        heads,
        ["root" if head == 0 else (token.dep_ or "dep").lower() for head, token in zip(heads, document)],
        misc=gold.misc,
        comments=gold.comments,
        extras=[(before, line) for before, line in gold.extras if "-" in line.partition("\t")[0]],
    )
