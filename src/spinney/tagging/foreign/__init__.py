"""Models of other programs as taggers, and taggers as models of other programs."""

from __future__ import annotations

import os

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.errors import ModelFileError, unknown_choice
from spinney.tagging.foreign.crfpp_files import read_crfpp
from spinney.tagging.foreign.crfsuite_files import read_crfsuite_model, write_crfsuite_model
from spinney.tagging.foreign.wapiti_files import read_wapiti
from spinney.tagging.tagger import Tagger

READERS = {"crfsuite": read_crfsuite_model, "wapiti": read_wapiti, "crfpp": read_crfpp}

__all__ = [
    "READERS",
    "read_crfpp",
    "read_crfsuite_model",
    "read_foreign",
    "read_wapiti",
    "write_crfsuite_model",
]


def read_foreign(path: FilePath, format: str | None = None) -> Tagger:
    """The tagger in a model file of CRFsuite, Wapiti or CRF++, which is recognised by its first bytes.

    It labels sentences as the other program does. A model of CRFsuite becomes a
    :class:`~spinney.tagging.CRFClassifier`, whose tokens are dictionaries of features; the others become a
    :class:`~spinney.tagging.Tagger` with their own patterns.

    Examples
    --------
    >>> import tempfile
    >>> from spinney.tagging import CRFClassifier
    >>> crf = CRFClassifier(start_label=False).fit([[["w=the"], ["w=dog"]]], [["D", "N"]])
    >>> path = tempfile.mkdtemp() + "/m.crfsuite"
    >>> write_crfsuite_model(crf, path)
    >>> read_foreign(path).predict([[["w=the"], ["w=dog"]]])
    [['D', 'N']]
    """
    if format is None:
        format = _recognised(path)
    elif format not in READERS:
        raise unknown_choice("format must be", format, READERS)
    return READERS[format](path)


def _recognised(path: FilePath) -> str:
    with open_bytes(path) as file:
        start = file.read(9)
    if start.startswith(b"lCRF"):
        return "crfsuite"
    if start.startswith(b"#mdl#"):
        return "wapiti"
    if start.startswith(b"version:") or start[:4] == (100).to_bytes(4, "little"):
        return "crfpp"
    raise ModelFileError("not a model of CRFsuite, Wapiti or CRF++", path=os.fspath(path))
