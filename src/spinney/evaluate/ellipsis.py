"""Pairs of clauses that people have compared: the sets GS2011, ELLDIS and ELLSIM."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError
from spinney.evaluate._tables import read_columns_named, to_number
from spinney.evaluate.expressions import Dependent


class Clause(NamedTuple):
    """Subject, verb and object; ``other`` is a second subject that does the same ("and fans do too")."""

    subject: str
    verb: str
    object: str
    other: str | None = None

    @property
    def subjects(self) -> list[str]:
        """One or two."""
        return [self.subject] if self.other is None else [self.subject, self.other]

    @property
    def head_word(self) -> tuple[str, str]:
        """The verb and its part of speech."""
        return self.verb, "VERB"

    @property
    def dependents(self) -> list[Dependent]:
        """Subjects before the verb, and the object after it."""
        subjects = [Dependent(subject, "NOUN", "nsubj") for subject in self.subjects]
        return [*subjects, Dependent(self.object, "NOUN", "obj", precedes=False)]


class ClausePair(NamedTuple):
    """Two clauses, their mean score, and the number of people it is of."""

    first: Clause
    second: Clause
    score: float
    raters: int = 1


def read_composition(path: FilePath, *, second_subjects: bool = False) -> list[ClausePair]:
    """The comparisons of GS2011, ELLDIS or ELLSIM, with mean scores.

    In the file of Grefenstette and Sadrzadeh 2011 a line is one person's score, from 1 to 7, of a verb with its subject
    and object beside a landmark, another verb; the first line names the columns ``verb``, ``subject``, ``object``,
    ``landmark`` and ``input`` (the score), between spaces.

    In those of Wijnholds and Sadrzadeh 2019 a line is one person's score of two sentences "subject verb object and
    other does too". In ELLDIS they differ in the verb alone: without the other subject they are the 199 comparisons of
    Grefenstette and Sadrzadeh 2011, in which a verb stands with one subject and one object. In ELLSIM they differ in
    all words: without it they are the 108 of Kartsaklis and Sadrzadeh 2013.

    Parameters
    ----------
    path
        The file.
    second_subjects
        Keep the other subjects; by default they are dropped, see :func:`transitive`.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "ell.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("participant\\tsent1\\tsent2\\tscore\\n")
    ...     for person, score in [("p1", 5), ("p2", 6)]:
    ...         sentences = "fan buy ticket and man does too\\tfan bribe ticket and man does too"
    ...         _ = file.write(f"{person}\\t{sentences}\\t{score}\\n")
    >>> [comparison] = read_composition(path)
    >>> comparison.first, comparison.score, comparison.raters
    (Clause(subject='fan', verb='buy', object='ticket', other=None), 5.5, 2)
    >>> read_composition(path, second_subjects=True)[0].first.other
    'man'
    """
    scores: dict[tuple[Clause, Clause], list[float]] = {}
    header = next((text for _, text in read_lines(path) if text.strip()), "")
    if "landmark" in fields(header):
        columns = ["verb", "subject", "object", "landmark", "input"]
        for line, (verb, subject, object_, landmark, score) in read_columns_named(path, columns, None):
            one = Clause(subject, verb, object_)
            scores.setdefault((one, one._replace(verb=landmark)), []).append(to_number(score, path, line))
    else:
        for line, (first, second, score) in read_columns_named(path, ["sent1", "sent2", "score"], "\t"):
            pair = (_clause(first, path, line), _clause(second, path, line))
            scores.setdefault(pair, []).append(to_number(score, path, line))
    found = [ClausePair(*pair, sum(given) / len(given), len(given)) for pair, given in scores.items()]
    return found if second_subjects else transitive(found)


def transitive(comparisons: Iterable[ClausePair]) -> list[ClausePair]:
    """The comparisons without second subjects; those that are then the same become one, with the mean of all.

    Examples
    --------
    >>> buy, sell = Clause("fan", "buy", "ticket", "man"), Clause("fan", "sell", "ticket", "man")
    >>> twice = [ClausePair(buy, sell, 4.0, 3),
    ...          ClausePair(buy._replace(other="son"), sell._replace(other="son"), 2.0, 1)]
    >>> [(c.first.other, c.score, c.raters) for c in transitive(twice)]
    [(None, 3.5, 4)]
    """
    sums: dict[tuple[Clause, Clause], tuple[float, int]] = {}
    for first, second, score, raters in comparisons:
        pair = (first._replace(other=None), second._replace(other=None))
        total, people = sums.get(pair, (0.0, 0))
        sums[pair] = (total + score * raters, people + raters)
    return [ClausePair(*pair, total / people, people) for pair, (total, people) in sums.items()]


def _clause(sentence: str, path: FilePath, line: int) -> Clause:
    match sentence.split():
        case [subject, verb, object_, "and", other, "does", "too"]:
            return Clause(subject, verb, object_, other)
    raise InputError(
        f"{sentence!r} is not a sentence of the form 'subject verb object and other does too'",
        path=os.fspath(path),
        line=line,
    )
