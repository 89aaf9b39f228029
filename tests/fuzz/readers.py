"""Every reader of text against mangled files.

Beyond ending clean, a reader must not change its mind: what it reads is the same with ``on_error="skip"`` as with
``"raise"``, with a byte-order mark and CRLF as without, compressed as plain, as arrays as it is as objects, and when
it is written and read again. A compressed file in which a byte was changed gives the same text, or an error.
"""

from __future__ import annotations

import bz2
import codecs
import encodings.aliases
import gzip
import io
import logging
import lzma
import os
import random
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import zstandard
from mutating import damaged, mutated, seeded
from running import Attempt, Harness, SilentChange

import spinney.corpus
import spinney.evaluate
from spinney.classes import recipes as classes_recipes
from spinney.classify.families import _families, _strengths
from spinney.classify.strengths import parsed_space
from spinney.cli import verbs
from spinney.corpus import (
    ReadReport,
    TokenArrays,
    Vocabulary,
    open_text,
    read_arrays,
    read_conllu,
    read_folder,
    write_conllu,
)
from spinney.corpus.brackets import Tree
from spinney.corpus.documents import column_number, read_documents
from spinney.corpus.elan import ElanTiers, read_elan
from spinney.corpus.labelled import InputOptions, input_batches, renaming
from spinney.corpus.lines import check_encoding, read_lines
from spinney.corpus.plain_annotations import read_annotated_columns, read_tagged_lines
from spinney.corpus.sample_treebank import elan_document, sample_treebank
from spinney.corpus.svmlight import read_svmlight
from spinney.corpus.text import Reading, Source, numbered, token_batches
from spinney.errors import InputError, SpinneyError
from spinney.formats import reader as reader_of
from spinney.lm import recipes as lm_recipes
from spinney.lm.arpa import read_arpa, write_arpa
from spinney.parsing.headrules import HeadRules
from spinney.settings.trend import named_columns
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors
from spinney.structure.topics import read_topics
from spinney.tagging.foreign import read_foreign
from spinney.tagging.g2p import read_cmudict
from spinney.tagging.patterns import read_patterns
from spinney.tagging.reading import read_batches_of
from spinney.trend import recipes as trend_recipes
from spinney.trend.dates import binned, parse_time
from spinney.trend.sources import Columns, dated_batches, read_dated

Read = Callable[[str], Any]


class Reader(NamedTuple):
    """A reader, and other ways to the same result."""

    samples: Sequence[bytes]
    read: Read
    suffix: str = ".txt"
    #: The same with ``on_error="skip"``: the result, and how much was dropped.
    skip: Callable[[str], tuple[Any, int]] | None = None
    #: The same result in another way; an empty result may be an error there.
    other: Read | None = None
    #: The inverse: writes a result to a file that reads alike.
    write: Callable[[Any, str], None] | None = None
    #: Whether the file is text, which may have a byte-order mark and CRLF, and may be compressed.
    text: bool = True


# ------------------------------------------------------------------------------------------------- relations


def _prepare(name: str, folder: Path) -> Attempt:
    logging.disable(logging.CRITICAL)
    reader = _READERS[name]
    path = str(folder / f"input{reader.suffix}")

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        data = mutated(draws, reader.samples)
        _write(path, data)
        found = _outcome(reader.read, path)
        if isinstance(found, _Refused) and "not a Spinney model" in found.what:
            return  # the file looks like a model, which is never marked or compressed
        relation = draws.choice(_RELATIONS)
        relation(reader, path, data, found, draws)

    return attempt


class _Refused(NamedTuple):
    what: str
    line: int | None


def _outcome(read: Read, path: str) -> Any:
    """What was read, or what was complained of."""
    try:
        return read(path)
    except SpinneyError as error:
        if "\n" in str(error) or not str(error):
            raise AssertionError(f"not one line: {error!r}") from None
        return _Refused(getattr(error, "what", str(error)), getattr(error, "line", None))


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _same(one: Any, other: Any, what: str) -> None:
    if one != other and repr(one) != repr(other):
        raise SilentChange(f"{what}:\n{one!r:.2000}\n{other!r:.2000}")


def _alone(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    """Nothing more than that the reader ends clean."""


def _skipping(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    if reader.skip is None:
        return
    other = _outcome(reader.skip, path)
    if isinstance(other, _Refused):
        if not isinstance(found, _Refused):
            raise SilentChange(f"only an error if errors are skipped: {other}")
        if other.what.startswith(("not UTF-8", "NUL byte")):
            raise SilentChange(f"not skipped: {other}")
        return
    kept, skipped = other
    if isinstance(found, _Refused):
        if not skipped:
            raise SilentChange(f"an error, but nothing was skipped: {found}")
        return
    if skipped:
        raise SilentChange(f"no error, but {skipped} were skipped")
    _same(found, kept, "raise and skip")


def _marked(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    if not reader.text or data.startswith(codecs.BOM_UTF8) or b"\r" in data:
        return
    changed = data.replace(b"\n", b"\r\n") if draws.random() < 0.5 else data
    _write(path, codecs.BOM_UTF8 + changed)
    _same(found, _outcome(reader.read, path), "with and without a byte-order mark and CRLF")


def _packed(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    if not reader.text:
        return
    ending = draws.choice(list(_PACKERS))
    _write(path + ending, _PACKERS[ending](data))
    _same(found, _outcome(reader.read, path + ending), f"as it is and with {ending}")


def _otherwise(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    if reader.other is None:
        return
    other = _outcome(reader.other, path)
    if isinstance(other, _Refused) and (isinstance(found, _Refused) or not found):
        return
    _same(found, other, "in two ways")


def _again(reader: Reader, path: str, data: bytes, found: Any, draws: random.Random) -> None:
    if reader.write is None or isinstance(found, _Refused) or codecs.BOM_UTF8 in data:
        return  # a mark inside a text may come to its start, where it is no text any more
    copy = path.removesuffix(reader.suffix) + "-copy" + reader.suffix
    try:
        reader.write(found, copy)
    except SpinneyError:
        return  # it says that it cannot be written
    _same(found, _outcome(reader.read, copy), "read, and written and read again")


_RELATIONS = (_alone, _skipping, _skipping, _marked, _packed, _otherwise, _otherwise, _again, _again)


def _zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data)


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, compresslevel=1),
    ".xz": partial(lzma.compress, preset=0),
    ".bz2": partial(bz2.compress, compresslevel=1),
    ".zst": _zst,
}


# ------------------------------------------------------------------------------------------- the formats


def _reading(format: str, what: str, **options: Any) -> tuple[Read, Callable[[str], tuple[Any, int]]]:
    """The reader of a format, and the same with errors skipped."""

    def read(path: str) -> Any:
        return list(
            reader_of(format, what)(path, encoding="utf-8", on_error="raise", report=ReadReport(), **options)
        )

    def skip(path: str) -> tuple[Any, int]:
        report = ReadReport()
        found = list(
            reader_of(format, what)(path, encoding="utf-8", on_error="skip", report=report, **options)
        )
        return found, report.skipped

    return read, skip


def _of_format(format: str, what: str, samples: Sequence[bytes], suffix: str = ".txt", **more: Any) -> Reader:
    read, skip = _reading(format, what)
    return Reader(samples, read, suffix, skip, **more)


def _annotations(samples: Sequence[bytes], suffix: str, reader: Callable[..., Any], what: Any) -> Reader:
    """A reader of annotations, with tiers or columns; whatever it gives is valid CoNLL-U."""

    def read(path: str) -> Any:
        found = list(reader(path, what))
        copy = path + ".conllu"
        write_conllu(copy, found)
        if found and [one.forms for one in read_conllu(copy)] != [one.forms for one in found]:
            raise SilentChange(f"not the same as CoNLL-U: {found!r:.2000}")
        return found

    def skip(path: str) -> tuple[Any, int]:
        report = ReadReport()
        return list(reader(path, what, on_error="skip", report=report)), report.skipped

    return Reader(samples, read, suffix, skip)


def _arrays(format: str, **options: Any) -> Read:
    def read(path: str) -> Any:
        arrays = read_arrays(path, format, **options)  # type: ignore[arg-type]
        words = [arrays.vocabulary.decode(sentence) for sentence in arrays]
        return words

    return read


def _forms(read: Read) -> Read:
    """The words of sentences of rows."""
    return lambda path: [[row[0] for row in sentence] for sentence in read(path)]


def _conllu_forms(path: str) -> Any:
    return [sentence.forms for sentence in read_conllu(path)]


def _tagged_columns(path: str) -> Any:
    """Sentences as a tagger that streams sees them."""
    found = []
    for columns in read_batches_of(path, "columns"):
        cells = [columns.strings(d) for d in range(columns.width)]
        for start, stop in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist()):
            found.append(list(zip(*(column[start:stop] for column in cells))))
    return found


def _words(format: str, words: str, path: str) -> Any:
    """Words as models see them that are applied, sentence by sentence."""
    reading = Reading(words=words, lowercase=True)
    batches = token_batches(Source([path], format), reading, ReadReport())
    return [tokens.words for batch in batches for tokens in batch]


def _word_arrays(format: str, words: str, path: str) -> Any:
    """The same as arrays, for models that are fitted."""
    try:
        arrays = Source([path], format).read(Reading(words=words, lowercase=True), ReadReport())
    except InputError as error:
        if "is empty" in error.what:  # nothing can be learnt from a column of underscores
            return _words(format, words, path)
        raise
    return [arrays.vocabulary.decode(sentence) for sentence in arrays]


def _of_words(format: str, words: str, samples: Sequence[bytes], suffix: str) -> Reader:
    return Reader(samples, partial(_words, format, words), suffix, other=partial(_word_arrays, format, words))


def _writes(name: str) -> Callable[[Any, str], None]:
    def write(found: Any, path: str) -> None:
        getattr(spinney.corpus, name)(path, found)

    return write


def _write_lines(found: Any, path: str) -> None:
    _write(path, "".join(" ".join(sentence) + "\n" for sentence in found).encode())


def _table(format: str, **columns: Any) -> tuple[Read, Callable[[str], tuple[Any, int]]]:
    def documents(path: str, on_error: Any, report: Any) -> Any:
        how = {"encoding": "utf-8", "on_error": on_error, "report": report}
        return [(one.text, one.label) for one in read_documents(path, format, **columns, **how)]

    def read(path: str) -> Any:
        return documents(path, "raise", ReadReport())

    def skip(path: str) -> tuple[Any, int]:
        report = ReadReport()
        return documents(path, "skip", report), report.skipped

    return read, skip


def _of_table(format: str, samples: Sequence[bytes], suffix: str) -> Reader:
    read, skip = _table(format, text="text", label="label")
    return Reader(samples, read, suffix, skip, other=partial(_inputs, format))


def _inputs(format: str, path: str) -> Any:
    """Documents as a classifier that streams sees them."""
    how = InputOptions(format=format)
    texts = [text for batch in input_batches(path, how, ReadReport()) for text in batch.inputs]
    return [
        (text, label) for text, (_, label) in zip(texts, _table(format, text="text", label="label")[0](path))
    ]


def _svmlight(path: str) -> Any:
    X, y = read_svmlight(path)
    return X.shape, X.indptr.tolist(), X.indices.tolist(), X.data.tolist(), y.tolist()


def _folder(folder: Path) -> Attempt:
    logging.disable(logging.CRITICAL)
    for label in ("pos", "neg"):
        (folder / label).mkdir()

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        for k in range(3):
            _write(str(folder / draws.choice(("pos", "neg")) / f"{k}.txt"), mutated(draws, _PROSE))
        found, report = _outcome(lambda path: list(read_folder(path)), str(folder)), ReadReport()
        kept = _outcome(lambda path: list(read_folder(path, on_error="skip", report=report)), str(folder))
        if isinstance(found, _Refused):
            if not report.skipped:
                raise SilentChange(f"an error, but nothing was skipped: {found}")
        else:
            _same(found, kept, "raise and skip")

    return attempt


_LINES = [
    b"the dog barks\na cat sleeps .\n\nthe end\n",
    "die Bäume\xa0stehen\nπ ≈ 3.14 , wirklich\n".encode(),
    b"a\n",
    b"one two three four\n" * 8,
]
_PROSE = [
    b"Mr. Pym can't come. He's ill!\n\nIt was 3.5 p.m. in the U.S. and www.example.com was down...\nWell?\n",
    "„So?“ – Ja. 他来了。她走了！\n\n#tag @name x@example.org $3,000.50 <br /> well-known\n".encode(),
]
_COLUMNS = [
    b"He PRP B-NP\nran VBD B-VP\n. . O\n\nStop VB B-VP\n! . O\n",
    b"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\n",
    b"a\tX\nb\tY\n\n\nc\tX\n",
]
_ELAN = [elan_document(sample_treebank(n), who).encode() for n, who in ((1, ("A",)), (4, ("A", "B")))]
_TAGGED_LINES = [b"the/DET dog/NOUN\n\n1/2/NUM a/b/X\n"]
_ANNOTATED = [
    b"# text = the dog.\nthe\tDET\t_\t2\ndog\tNOUN\tCase=Nom|Number=Sing\t0\n.\tPUNCT\t\t2\n\nno\tX\t\t\n",
    b"the DET _ _\ndog NOUN _ _\n",
]
_CONLLU = [
    b"# sent_id = 1\n# text = Dogs bark\n1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t2:nsubj\t_\n"
    b"2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t0:root\tSpaceAfter=No\n3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\n\n",
    b"1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_\n2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_\n"
    b"3\tchat\tchat\tNOUN\t_\t_\t0\troot\t_\t_\n3.1\tx\tx\tVERB\t_\t_\t_\t_\t_\t_\n\n1\tNo\tno\tINTJ\t_\t_\t_\t_\t_\t_\n",
]
_CSV = [
    b'text,label,date\nA joy,pos,2001-05-03\n"A bore, really",neg,2002-01-01\n"two\nlines",pos,2002-02-01\n',
    b'id,label,text\n1,a,one two\n2,b,"say ""no"""\n3,a,\n',
]
_TSV = [b'text\tlabel\nA joy\tpos\nA "bore"\tneg\n', b"label\ttext\ta\n1\tone two\t3\n0\tthree\t4\n"]
_JSONL = [
    b'{"text": "A joy.", "label": "pos", "n": 5}\n{"label": "neg", "text": "A bore.", "n": null}\n',
    b'{"text": ["A", "joy"], "label": 1}\n{"text": "x \\u00e9 \\ud83d\\ude00", "label": 0, "more": {"a": [1, 2.5]}}\n',
]
_SPACY_JSONL = [
    b'{"text": "Ada slept.", "spans": [{"start": 0, "end": 3, "label": "PER"}], "label": "a"}\n'
    b'{"text": "No. 5", "entities": [[0, 2, "X"], [4, 5, "Y"]], "cats": {"a": 1, "b": 0}}\n',
    b'{"text": "NewYork", "tokens": [{"start": 0, "end": 3}, {"start": 3, "end": 7}], "spans": [], "accept": ["a"]}\n',
]
_TREES = [
    b"( (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)) )\n",
    b"(3 (2 A) (4 joy))\n(1 (2 A)\n  (0 (1 dull) (2 day)))\n(2 fine)\n",
]
_SVM = [b"1 1:0.5 3:2\n-1 2:1 # a comment\n", b"+1 0:1 7:3e-2\n0 qid:3 2:1\n1\n", b"1.5 10:1 200:2.5\n" * 3]
_CRFSUITE = [b"NN\tw=time\tlength:0.5\n:\tw=\\:\n\nVB\tw=go\tw=go\tx:2\n"]
_NETTALK = [b"aback\txb@k-\t0>1<<\t0\nabacus\t@bxkxs\t1<0>0<\t0\n"]
_CMUDICT = [b";;; the start\nABACK  AH0 B AE1 K\naxe(2) AE1 K S # an axe\nFOX 1 F AA1 K S\n'TIS  T IH1 Z\n"]


# ---------------------------------------------------------------------------------- structures and lists


def _array_values(array: Any) -> Any:
    return None if array is None else np.asarray(array).tolist()


def _classes(way: str) -> Read:
    def read(path: str) -> Any:
        found = getattr(WordClasses, f"read_{way}")(path)
        classes = {
            word: found.paths[i] if found.paths else i for word, i in zip(found.words, found.ids.tolist())
        }
        counts = None if found.counts is None else dict(zip(found.words, found.counts.tolist()))
        return _Value((classes, counts, found.unknown), found)

    return read


class _Value:
    """What was read, in a form that can be compared, with the object itself."""

    def __init__(self, value: Any, object: Any) -> None:
        self.value, self.object = value, object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and self.value == other.value

    def __repr__(self) -> str:
        return repr(self.value)


def _write_paths(found: _Value, path: str) -> None:
    if found.value[1] is None:
        raise InputError("counts that are not known are written as 0")
    found.object.write_paths(path)


def _vectors(path: str) -> Any:
    found = WordVectors.read_word2vec(path)
    return _Value((list(found.words), found.matrix.tolist()), found)


def _fasttext(path: str) -> Any:
    found = WordVectors.read(path)
    return list(found.words), found.matrix.tolist(), found["a word"].tolist() if found.subwords else None


def _foreign(path: str) -> Any:
    found = read_foreign(path)
    return (
        found.labels_,
        found.extractor_.names("u"),
        found.extractor_.names("b"),
        found.weights_.values.tolist(),
    )


def _tree(way: str) -> Read:
    def read(path: str) -> Any:
        found = getattr(ClassTree, f"read_{way}")(path)
        return _Value((list(found.names), found.to_newick()), found)

    return read


def _groups(path: str) -> Any:
    found = Groups.read_json(path)
    return _Value(
        (found.ptr.tolist(), found.members.tolist(), found.weights.tolist(), found.n_features), found
    )


def _method(name: str) -> Callable[[Any, str], None]:
    return lambda found, path: getattr(found.object, name)(path)


def _topics(path: str) -> Any:
    found = read_topics(path)
    return found.words, found.weights.toarray().tolist() if found.weights.shape[0] < 100 else None


def _arpa(path: str) -> Any:
    found = read_arpa(path)
    rounded = [float(f"{value:.7g}") for value in found.logp.tolist() if value > -1e30]
    return _Value((sorted(found.vocabulary.words), len(found.logp), sorted(rounded)), found)


def _write_arpa(found: _Value, path: str) -> None:
    write_arpa(found.object, path)


def _vocabulary(path: str) -> Any:
    found = Vocabulary.load(path)
    return _Value((found.words, found.counts.tolist()), found)


def _word_list(path: str) -> Any:
    found = lm_recipes._given_vocabulary(SimpleNamespace(vocabulary=path, closed=False, unknown=None))
    return None if found is None else found.words


def _patterns(path: str) -> Any:
    return [(one.text, one.literals, one.fields) for one in read_patterns(path)]


def _head_rules(path: str) -> Any:
    rules = HeadRules.read(path)
    return rules.rules, rules.default, sorted(rules.conjunctions), sorted(rules.punctuation)


def _config(path: str) -> Any:
    return verbs._config(path)


def _relation_groups(path: str) -> Any:
    return classes_recipes._relation_groups(path)


def _space(path: str) -> Any:
    return trend_recipes._space(path)


def _evaluation(name: str) -> Read:
    def read(path: str) -> Any:
        return getattr(spinney.evaluate, name)(path)

    return read


def _dated(on_error: str, path: str) -> Any:
    s = SimpleNamespace(format="csv", encoding="utf-8", on_error=on_error)
    columns = Columns(text="text", time="date", extra={"n": "n"})
    found = read_dated(path, columns, s, None)
    documents = found.documents
    value = found.ids, list(documents.texts), _array_values(documents.times), _array_values(documents.extra)
    return value if on_error == "raise" else (value, found.skipped)


def _dated_batches(path: str) -> Any:
    s = SimpleNamespace(format="csv", encoding="utf-8", on_error="raise")
    columns = Columns(text="text", time="date", extra={"n": "n"})
    (found,) = dated_batches(path, columns, s, None, ReadReport())
    documents = found.documents
    return found.ids, list(documents.texts), _array_values(documents.times), _array_values(documents.extra)


_ARPA = [
    b"\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-1.0\t<s>\t-0.3\n-0.5\t</s>\n-0.7\ta\t-0.2\n-0.9\tb\t-0.1\n\n"
    b"\\2-grams:\n-0.2\t<s> a\n-0.4\ta b\n-0.3\tb </s>\n\n\\end\\\n",
    b"comment\n\\data\\\nngram 1=3\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.2 <unk>\n\\end\\\n",
]
_VECTORS = [b"3 2\nthe 0.5 -1\ncat 1e-3 2\ndog 0 0\n", b"a 1 2 3\nb 4 5 6\n"]
_BINARY = [
    b"2 2\nab " + np.array([1, 2], "<f4").tobytes() + b"\nc " + np.array([3, 4], "<f4").tobytes() + b"\n"
]
_FASTTEXT = [
    b"\xba\x16\x4f\x2f\x0c\0\0\0"
    + np.array([2, 5, 5, 1, 5, 1, 2, 2, 3, 2, 4, 9, 0, 0, 2, 2, 0, 9, 0, -1, -1], "<i4").tobytes()
    + b"".join(word + b"\0\1" + bytes(8) for word in (b"</s>", b"the"))
    + b"\0"
    + np.array([5, 2], "<i8").tobytes()
    + np.arange(10, dtype="<f4").tobytes()
]
_FOREIGN_FOLDER = Path(__file__).parents[1] / "tagging" / "foreign_models"
_FOREIGN = [
    (_FOREIGN_FOLDER / f"small.{ending}").read_bytes()
    for ending in ("crfsuite", "wapiti", "crfpp", "crfpp.txt")
]
_PATHS = [b"00\tthe\t50\n01\tcat\t10\n01\tdog\t9\n1\tran\t7\n", b"0\ta\n10\tb\n"]
_CLASSES_JSON = [
    b'{\n  "unknown": null,\n  "lowercase": false,\n  "classes": [\n    {"path": "0", "words": ["a"], "counts": [3]},\n'
    b'    {"path": "10", "words": ["b", "c"], "counts": [2, 1]}\n  ]\n}\n'
]
_NEWICK = [b"((cat,dog),'potted plant');\n", b"(a:0.1,(b,c)name:2e-1,'it''s')[note];"]
_TREE_JSON = [
    b'{"nodes": [\n{"name": "cat", "parent": 2},\n{"name": "dog", "parent": 2},\n{"parent": null}\n]}\n',
    b'{"nodes": [{"name": "a", "parent": 2, "branch": 1}, {"name": "b", "parent": 2, "branch": 0}, '
    b'{"parent": null, "branch": 0}]}',
]
_GROUPS = [
    b'{"n_features": 4, "groups": [\n{"name": "x", "weight": 1.5, "members": [0, 1]},\n'
    b'{"name": "y", "members": [2, 3]}]}\n'
]
_TOPICS = [b"space:0.5 orbit:0.25\ngame team\n", b"a b c\nd:1e-2 e:.5\n"]
_VOCABULARY = [b"the\t50\ncat\t10\ndog\t9\n"]
_WORDS = [b"the\ncat\n\ndog\n"]
_PATTERNS = [
    b'U00:%x[0,0]\nU01:%x[-1,0]/%x[0,1]\n# a comment\nB\n*:%lower[0,0]\nU2:%m[0,0,"^[A-Z]+$"]\nU3:%suffix[0,0,3]\n',
    b'U:word=%X[@0,0]\nu4:%t[0,0,"\\d"] # note\nU5:%class[0,0,brown]\nU6:%path[0,0,brown,4]\nB1:%shape[1,0]\n',
]
_RULES = [b"# French\nNP left (NC NPP) NP\nNP right ADJ\n* right\n* conjunctions CC\n* punctuation , .\n"]
_CONFIG = [
    b'# settings\nmethod = "kn"\norder = 5\nlam = 0.1\ntrain = ["a.txt", "b.txt"]\nlowercase = true\n',
    b'[a]\nx = 1979-05-27T07:32:00Z\ny = """\nlong\n"""\nz = {p = [1, [2, 3]], "q" = inf}\n',
]
_RELATION_GROUPS = [b'{"subject": ["nsubj", "csubj"], "object": ["obj", "iobj"]}\n']
_SPACE = [b'{"ridge-ts": {"lam": [1, 10], "alpha": [1]}}\n']
_PAIRS = [
    b"tiger\tcat\t7.35\nbook\tpaper\t7.46\n",
    b"word1,word2,similarity\ntiger,cat,7.35\n,,\n",
    b"a b 1\nc d 2.5\n",
]
_ANALOGIES = [
    b": family\nboy girl king queen\n: gram1\na b c d\n",
    b"type,word1,word2,word3,target\nsyn,a,b,c,d\n",
]
_BLESS = [
    b"alligator-n\treptile\tattri\taggressive-j\nalligator-n\treptile\tcoord\tcrocodile-n\n",
    b"word1,word2,relation\nalligator,aggressive,attri\ncat,dog,random\n",
]
_CATEGORIES = [b',category,word\n0,"tree, fruit",apple\n1,animal-land,dog\n2,x,\n']
_COMPOSITION = [
    b"participant\tsent1\tsent2\tscore\np1\tfan buy ticket and man does too\tfan bribe ticket and man does too\t5\n"
    b"p2\tfan buy ticket and man does too\tfan bribe ticket and man does too\t6\n",
    b"participant verb subject object landmark input hilo\np20 provide family home supply 4 HIGH\n",
]
_PHRASES = [
    b"p1 adjectivenouns 1 new law old rule 5\np2 compoundnouns 1 tax law law book 3\n"
    b"p1 verbobjects 2 tax pay law use 7\n"
]
_DEVIANCE = [b"adjective noun class\nblind numbness acceptable\nacademic-j_bladder-n deviant\n"]
_COMPLETIONS = [b"They drank ___ with milk.\ttea\tsand\nA ___ barks\tdog\tcat\tpen\n"]
_LABELLED = [b"1 a joy .\n0 a bore .\n"]
_DATED = [
    b"text,date,n\nA joy,2001-05-03,1\nA bore,2002-01-01,2.5\nso so,2003-07,3\n",
    b"date,n,text\n1999,0,one two\n2000,-1e3,three\n",
]


def _readers() -> dict[str, Reader]:
    columns = _of_format(
        "columns", "sentences", _COLUMNS, other=_tagged_columns, write=_writes("write_columns")
    )
    table_words = _of_format("columns", "sentences", _COLUMNS)
    pieces: dict[str, Reader] = {
        "lines": _of_format("lines", "sentences", _LINES, other=_arrays("lines"), write=_write_lines),
        "lines-documents": _of_format("lines", "documents", _LINES),
        "prose": _of_format("prose", "sentences", _PROSE, other=_arrays("prose")),
        "columns": columns,
        "columns-arrays": table_words._replace(
            read=_forms(table_words.read), skip=None, other=_arrays("columns")
        ),
        "conllu": _of_format("conllu", "sentences", _CONLLU, ".conllu", write=_writes("write_conllu")),
        "conllu-tagged": _of_format("conllu", "tagged", _CONLLU, ".conllu"),
        "conllu-arrays": Reader(_CONLLU, _conllu_forms, ".conllu", other=_arrays("conllu")),
        "csv": _of_table("csv", _CSV, ".csv"),
        "tsv": _of_table("tsv", _TSV, ".tsv"),
        "jsonl": _of_table("jsonl", _JSONL, ".jsonl"),
        "words-lines": _of_words("lines", "form", _LINES, ".txt"),
        "words-columns": _of_words("columns", "0+1", _COLUMNS, ".txt"),
        "words-conllu": _of_words("conllu", "lemma+upos", _CONLLU, ".conllu"),
        "words-csv": _of_words("csv", "form", _CSV, ".csv"),
        "spacy-jsonl": _of_format("spacy-jsonl", "tagged", _SPACY_JSONL, ".jsonl"),
        "spacy-jsonl-documents": _of_format("spacy-jsonl", "documents", _SPACY_JSONL, ".jsonl"),
        "elan": _annotations(
            _ELAN, ".eaf", read_elan, ElanTiers("words", None, "pos", None, "lemma", None, "gloss")
        ),
        "elan-utterances": _annotations(_ELAN, ".eaf", read_elan, ElanTiers(sentences="utterance@*")),
        "annotated-columns": _annotations(
            _ANNOTATED, ".tsv", read_annotated_columns, ("form", "upos", "feats", "head")
        ),
        "tagged-lines": _annotations(
            [b"the/DET dog/NOUN\n\n1/2/NUM a/b/X\n"], ".txt", read_tagged_lines, ("form", "upos")
        ),
        "trees": _of_format("trees", "trees", _TREES, ".mrg", write=_writes("write_trees")),
        "svmlight": Reader(_SVM, _svmlight, ".svm"),
        "crfsuite": _of_format("crfsuite", "tagged", _CRFSUITE),
        "letters": _of_format("letters", "sentences", _LINES),
        "nettalk": Reader(_NETTALK, _reading("nettalk", "tagged")[0]),
        "nettalk-stress": Reader(_NETTALK, _reading("nettalk-stress", "tagged")[0]),
        "cmudict": Reader(_CMUDICT, _reading("cmudict", "tagged")[0], text=False),  # Latin-1, so no mark
        "arpa": Reader(_ARPA, _arpa, ".arpa", write=_write_arpa),
        "word2vec": Reader(_VECTORS, _vectors, write=_method("write_word2vec")),
        "word2vec-binary": Reader(_BINARY, _vectors, ".bin", text=False),
        "fasttext": Reader(_FASTTEXT, _fasttext, ".bin", text=False),
        "foreign-taggers": Reader(_FOREIGN, _foreign, ".model", text=False),
        "brown-paths": Reader(_PATHS, _classes("paths"), write=_write_paths),
        "classes-json": Reader(_CLASSES_JSON, _classes("json"), ".json", write=_method("write_json")),
        "newick": Reader(_NEWICK, _tree("newick"), ".nwk", write=_method("write_newick")),
        "tree-json": Reader(_TREE_JSON, _tree("json"), ".json", write=_method("write_json")),
        "groups": Reader(_GROUPS, _groups, ".json", write=_method("write_json")),
        "topics": Reader(_TOPICS, _topics),
        "vocabulary": Reader(_VOCABULARY, _vocabulary, write=_method("save")),
        "word-list": Reader(_WORDS, _word_list),
        "patterns": Reader(_PATTERNS, _patterns),
        "head-rules": Reader(_RULES, _head_rules),
        "config": Reader(_CONFIG, _config, ".toml"),
        "relation-groups": Reader(_RELATION_GROUPS, _relation_groups, ".json"),
        "space": Reader(_SPACE, _space, ".json"),
        "dated": Reader(
            _DATED, partial(_dated, "raise"), ".csv", partial(_dated, "skip"), other=_dated_batches
        ),
        "word-pairs": Reader(_PAIRS, _evaluation("read_word_pairs")),
        "analogies": Reader(_ANALOGIES, _evaluation("read_analogies")),
        "bless": Reader(_BLESS, _evaluation("read_bless")),
        "categories": Reader(_CATEGORIES, _evaluation("read_categories")),
        "composition": Reader(_COMPOSITION, _evaluation("read_composition")),
        "phrase-pairs": Reader(_PHRASES, _evaluation("read_comparisons")),
        "deviance": Reader(_DEVIANCE, _evaluation("read_deviance")),
        "completions": Reader(_COMPLETIONS, _evaluation("read_completions")),
        "labelled-sentences": Reader(_LABELLED, _evaluation("read_labelled_sentences")),
        "sentiment-trees": Reader(_TREES, _evaluation("read_sentiment_trees")),
    }
    if find_spec("spacy") is not None:
        for what in ("sentences", "documents", "tagged", "parsed"):
            read, skip = map(_with_zlib, _reading("spacy", what))
            pieces[f"spacy-{what}"] = Reader(_docbins(), read, ".spacy", skip, text=False)
    return pieces


@cache
def _docbins() -> list[bytes]:
    """Corpora of spaCy, before they are compressed: a byte that is changed afterwards is found by its checksum."""
    import spacy
    from spacy.tokens import Doc, DocBin

    words, heads = ["Ada", "King", "slept", "in", "York"], [1, 2, 2, 2, 3]
    how = {
        "heads": heads,
        "deps": ["x"] * 5,
        "pos": ["NOUN"] * 5,
        "ents": ["B-PER", "I-PER", "O", "O", "B-LOC"],
    }
    one = Doc(spacy.blank("en").vocab, words=words, tags=["N"] * 5, lemmas=words, **how)
    one.cats = {"a": 1.0, "b": 0.0}
    bare = Doc(one.vocab, words=["It", "works", "\n"])
    return [zlib.decompress(DocBin(docs=docs).to_bytes()) for docs in ([one], [one, bare, one])]


def _with_zlib(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def compressed(path: str) -> Any:
        _write(path + ".spacy", zlib.compress(Path(path).read_bytes(), 1))
        return read(path + ".spacy")

    return compressed


# ------------------------------------------------------------------- compressed files, caches and the rest


def _compressed(ending: str, folder: Path) -> Attempt:
    path = str(folder / f"input.txt{ending}")
    text = b"".join(_LINES) + b"more text than that\n" * 20
    pack = _PACKERS[ending]
    files = [pack(text), pack(text[:90]) + pack(text[90:])]

    def read(path: str) -> str:
        with open_text(path) as file:
            return file.read()

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        file = draws.choice(files)
        for _ in range(draws.choice((1, 1, 2))):
            file = damaged(draws, file)
        _write(path, file)
        found = _outcome(read, path)
        if isinstance(found, _Refused):
            return
        # Whole streams may be missing or come twice, and nobody can tell.
        whole = [text.decode(), text[:90].decode(), text[90:].decode()]
        while found:
            part = next((one for one in whole if found.startswith(one)), None)
            if part is None:
                raise SilentChange(f"another text: {found!r:.500}")
            found = found[len(part) :]

    return attempt


def _zip(folder: Path) -> Attempt:
    path = str(folder / "cmudict.zip")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("corpora/cmudict/README", b"a file\n")
        archive.writestr("corpora/cmudict/cmudict", _CMUDICT[0] * 5)
    truth: list[Any] = []

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        if not truth:
            _write(path, packed.getvalue())
            truth.append(read_cmudict(path))
        _write(path, damaged(draws, packed.getvalue()))
        found = _outcome(read_cmudict, path)
        if not isinstance(found, _Refused):
            _same(truth[0], found, "a damaged archive")

    return attempt


def _cache(folder: Path) -> Attempt:
    """The folders of ``cache``: a damaged one is made again, or an error, but never other text."""
    logging.disable(logging.CRITICAL)
    text, cache = str(folder / "text.txt"), str(folder / "cache")
    _write(text, b"".join(_LINES))

    def read(path: str) -> Any:
        report = ReadReport()
        with numbered(Source([text]), Reading(), report, path) as arrays:
            words = [arrays.vocabulary.decode(sentence) for sentence in arrays]
        return words, arrays.vocabulary.counts.tolist(), report

    truth = read(cache)
    whole = {name: Path(cache, name).read_bytes() for name in sorted(os.listdir(cache))}

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        name = draws.choice(list(whole))
        _write(os.path.join(cache, name), damaged(draws, whole[name]))
        if draws.random() < 0.1:
            os.remove(os.path.join(cache, draws.choice(list(whole))))
        _outcome(lambda path: TokenArrays.load(path, mmap=draws.random() < 0.5), cache)
        found = _outcome(read, cache)
        shutil.rmtree(cache, ignore_errors=True)
        os.mkdir(cache)
        for name, data in whole.items():
            _write(os.path.join(cache, name), data)
        if not isinstance(found, _Refused):
            _same(truth, found, "a damaged cache")

    return attempt


_CODECS = sorted(
    {*encodings.aliases.aliases.values(), "utf-8-sig", "idna", "punycode", "undefined", "unicode_escape"}
)


def _encodings(folder: Path) -> Attempt:
    """Text in any encoding, and names that are no encoding."""
    path = str(folder / "input.txt")

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        name = draws.choice(_CODECS)
        if draws.random() < 0.1:
            name = mutated(draws, [name.encode()]).decode("latin-1")
            if draws.random() < 0.1:
                name *= draws.choice((100, 1000))
        check_encoding(name)
        data = draws.choice(_LINES)
        try:
            data = data.decode().encode(name)
        except UnicodeError:
            data = b"a plain text\n"
        _write(path, mutated(draws, [data]))
        list(read_lines(path, name))

    return attempt


def _specs(folder: Path) -> Attempt:
    """What is written on one line of a setting: groups of features, spaces of strengths, labels, columns, times."""
    specs: list[tuple[Callable[[str], Any], list[bytes]]] = [
        (_families, [b"parse,topics:20,sentences", b"brown:8,x.json"]),
        (lambda spec: _strengths(spec, ["parse", "topics"]), [b"parse=0.5,topics=1e-3"]),
        (parsed_space, [b"lam=0.01,0.1;l2=1..10", b"groups=lda:2|sentence;lam=1"]),
        (renaming, [b"0=neg,4=pos,2="]),
        (column_number, [b"12", b"text"]),
        (lambda spec: named_columns("covariates", spec), [b"a=x,b=y", b"one,two"]),
        (lambda spec: binned([parse_time(spec)], 10), [b"1945", b"2014-05-03 10:00", b"2014-12"]),
        (ClassTree.from_newick, _NEWICK),
        (Tree.parse, _TREES),
    ]

    def attempt(rng: np.random.Generator) -> None:
        draws = seeded(rng)
        read, samples = draws.choice(specs)
        read(mutated(draws, samples).decode("utf-8", "replace").replace("\0", ""))

    return attempt


_READERS = _readers()
HARNESSES: list[Harness] = [
    *(Harness(f"read/{name}", partial(_prepare, name)) for name in _READERS),
    Harness("read/folder", _folder),
    *(Harness(f"read/{ending[1:]}", partial(_compressed, ending)) for ending in _PACKERS),
    Harness("read/cmudict-zip", _zip),
    Harness("read/cache", _cache),
    Harness("read/encodings", _encodings),
    Harness("read/specs", _specs),
]
