"""Annotations of other kinds as CoNLL-U, for ``fit``: ELAN files, plain columns, and ``word/TAG``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from spinney.corpus.compressed import content_suffix
from spinney.corpus.conllu import Sentence, write_conllu
from spinney.corpus.elan import ElanTiers, read_elan
from spinney.corpus.lines import ReadReport
from spinney.corpus.plain_annotations import read_annotated_columns, read_tagged_lines
from spinney.errors import InputError, SettingError, did_you_mean_file
from spinney.parsing.treebanks import paths_of
from spinney.progress import log
from spinney.settings import Settings, settings_or
from spinney.settings.pipeline import Import
from spinney.views import Facts, Note, View, Views

_ELAN = ".eaf"
_NAMES = {
    "files": "files", "sentences": "sentences", "tokens": "tokens", "tagged": "tokens with tags",
    "lemmas": "tokens with lemmas", "sentences_with_trees": "sentences with trees", "empty": "utterances without words",
    "skipped": "skipped",
}  # fmt: skip


def import_files(files: Any, output: str, settings: Settings | None = None, **given: Any) -> Views:
    """Write the annotations of files as CoNLL-U.

    Parameters
    ----------
    files
        Files, or folders of them.
    output
        The file to write; ``-`` is standard output.
    settings
        Settings of :class:`spinney.settings.pipeline.Import`; or give them by name.

    Returns
    -------
    Views
        What was read.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "story.txt"), "w") as file:
    ...     _ = file.write("Pelu/NOUN selemi/VERB ./PUNCT\\n")
    >>> views = import_files(file.name, os.path.join(folder, "story.conllu"), format="tagged")
    >>> views[0].values["tokens"]
    3
    """
    s: Any = settings_or(Import, settings, given)
    report, facts = ReadReport(), dict.fromkeys(("sentences", "tokens", "tagged", "lemmas"), 0)
    paths = _files(paths_of(files) or [], s)
    facts = {"files": len(paths)} | facts | {"sentences_with_trees": 0}

    def counted() -> Iterator[Sentence]:
        for sentence in annotated_sentences(paths, s, report):
            facts["sentences"] += 1
            facts["tokens"] += len(sentence)
            facts["tagged"] += sum(tag != "_" for tag in sentence.upos)
            facts["lemmas"] += sum(lemma != "_" for lemma in sentence.lemmas)
            facts["sentences_with_trees"] += bool(sentence.heads)
            yield sentence
        if not facts["sentences"]:
            why = report.errors[0] if report.errors else None
            raise InputError("no sentences", path=", ".join(paths[:3]), remedy=why)

    write_conllu(output, counted())
    if report.skipped:
        log.warning("%d annotations were skipped; the first: %s", report.skipped, report.errors[0])
    told = facts | {"empty": report.empty, "skipped": report.skipped}
    names = {name: called for name, called in _NAMES.items() if told[name] or name in ("sentences", "tokens")}
    views: list[View] = [Facts("facts", "", told, names)]
    if not facts["tagged"]:
        views.append(Note("No word has a tag in the column upos, which a pipeline learns from."))
    return Views(views)


def annotated_sentences(paths: Sequence[str], s: Any, report: ReadReport) -> Iterator[Sentence]:
    """The sentences of all files, as the settings say; names of sentences are unique."""
    how = {"encoding": s.encoding, "on_error": s.on_error, "report": report}
    tiers = ElanTiers(*(getattr(s, name) for name in ElanTiers._fields))
    seen: dict[str, int] = {}
    for path in paths:
        format = format_of(path, s)
        if format == "elan":
            stem = os.path.basename(path).partition(".")[0] or "elan"
            seen[stem] = seen.get(stem, 0) + 1
            name = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"
            yield from read_elan(path, tiers, name=name, **how)
        elif format == "tagged":
            yield from read_tagged_lines(path, s.columns or ("form", "upos"), **how)
        elif s.columns is None:
            raise SettingError(
                "{columns} is missing: name the columns of {path}, as in form,lemma,upos", path=path
            )
        else:
            yield from read_annotated_columns(path, s.columns, **how)


def format_of(path: str, s: Any) -> str:
    """The format that the settings name, or that the name of the file suggests."""
    return str(s.format or ("elan" if content_suffix(path) == _ELAN else "columns"))


def _files(paths: Sequence[str], s: Any) -> list[str]:
    """The files, and those in folders: ELAN's, or where another format is named, all."""
    found: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            if path != "-" and not os.path.exists(path):
                raise InputError("no such file", path=path, remedy=did_you_mean_file(path) or None)
            found.append(path)
            continue
        inside = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if not name.startswith(".")
        )
        if s.format in (None, "elan"):
            inside = [name for name in inside if content_suffix(name) == _ELAN]
        if not inside:
            remedy = "give ELAN files (.eaf), or say which format the files have"
            raise InputError("no files to read in this folder", path=path, remedy=remedy)
        found += inside
    _check_settings(found, s)
    return found


def _check_settings(paths: Sequence[str], s: Any) -> None:
    """Refuse settings that none of the files needs."""
    formats = {format_of(path, s) for path in paths}
    for name in ElanTiers._fields:
        if getattr(s, name) is not None and "elan" not in formats:
            raise SettingError(
                f"{{{name}}} is a tier of ELAN files, and none is given: name {{columns}} instead"
            )
    if s.columns is not None and formats == {"elan"}:
        raise SettingError("{columns} is not for ELAN files: name their tiers ({words}, {upos} and others)")
