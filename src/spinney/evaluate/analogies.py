"""Analogies: Athens is to Greece as Oslo is to what? (Mikolov, Yih and Zweig 2013)"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import fields, read_lines
from spinney.errors import InputError, OptionError
from spinney.evaluate._tables import read_columns_named
from spinney.evaluate.wordsim import Find, lookup
from spinney.structure import WordVectors

Method = Literal["3cosadd", "3cosmul"]
Scores = NDArray[np.float32]

_EPSILON = np.float32(1e-3)  # Levy and Goldberg 2014, equation 4
_QUESTIONS_AT_ONCE = 1 << 12
_COSINES_AT_ONCE = 1 << 23
_SCORES_AT_ONCE = 1 << 17  # as many as stay in the cache of one core
# Google's syntactic sections begin so; Microsoft's are pairs of parts of speech.
_SYNTACTIC = re.compile("gram[0-9]|[A-Z]+_[A-Z]+$")


class Question(NamedTuple):
    """``a`` is to ``b`` as ``c`` is to ``d``, which is sought."""

    section: str
    a: str
    b: str
    c: str
    d: str

    @property
    def syntactic(self) -> bool:
        """Whether the relation is one of word forms: its section is such as ``gram7-past-tense`` or ``JJ_JJR``."""
        return _SYNTACTIC.match(self.section) is not None


class AnalogyScore(NamedTuple):
    """How many questions there were, how many had vectors for all four words, how many of them came out right."""

    asked: int
    known: int
    correct: int

    @property
    def accuracy(self) -> float:
        """The share of right answers to questions whose words are all known; not a number without any."""
        return self.correct / self.known if self.known else float("nan")

    @property
    def accuracy_of_all(self) -> float:
        """The share of right answers to all questions: those with unknown words count as wrong."""
        return self.correct / self.asked if self.asked else float("nan")

    def as_dict(self) -> dict[str, float]:
        """The counts and both shares."""
        return {**self._asdict(), "accuracy": self.accuracy, "accuracy_of_all": self.accuracy_of_all}


@dataclass(frozen=True)
class AnalogyResult:
    """What :func:`analogies` found.

    Attributes
    ----------
    total, semantic, syntactic : AnalogyScore
        Over all questions, and over those of either kind.
    sections : dict
        The score of each section, in the order of the questions.
    answers : list of str or None
        The word that was found for each question; None where a word is not known.
    correct : array of bool
        Whether that is the right one, for each question.
    """

    total: AnalogyScore
    semantic: AnalogyScore
    syntactic: AnalogyScore
    sections: dict[str, AnalogyScore]
    answers: list[str | None]
    correct: NDArray[np.bool_]

    def as_dict(self) -> dict[str, Any]:
        """The scores alone, as a report in JSON has them."""
        return {
            **self.total.as_dict(),
            "semantic": self.semantic.as_dict(),
            "syntactic": self.syntactic.as_dict(),
            "sections": {name: score.as_dict() for name, score in self.sections.items()},
        }


def read_analogies(path: FilePath) -> list[Question]:
    """Questions from a file, in either of two layouts.

    One is that of word2vec's ``questions-words.txt``: four words per line, below lines such as ``: family`` that
    name a section. The other, known by the commas of its first line, is a table whose header names ``type``
    (the section), ``word1``, ``word2``, ``word3`` and ``target``.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "questions.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write(": family\\nboy girl king queen\\n")
    >>> read_analogies(path)
    [Question(section='family', a='boy', b='girl', c='king', d='queen')]
    """
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty", path=os.fspath(path))
    questions = _table(path) if "," in first and not first.startswith(":") else _sections(path)
    if not questions:
        raise InputError("no questions", path=os.fspath(path))
    return questions


def analogies(
    vectors: WordVectors,
    questions: Iterable[Question],
    method: Method = "3cosadd",
    *,
    exclude: bool = True,
    find: Find | None = None,
) -> AnalogyResult:
    """How often the word that vectors give for d in "a is to b as c is to d" is the right one.

    The answer is the word x of the whole vocabulary with the largest cos(x, b) − cos(x, a) + cos(x, c), which is the
    one nearest to b − a + c where all vectors have length one (``"3cosadd"``); or, with s = (cos + 1)/2, the
    largest s(x, b) s(x, c) / (s(x, a) + 0.001) (``"3cosmul"``, Levy and Goldberg 2014).

    Parameters
    ----------
    vectors
        Vectors of words.
    questions
        As :func:`read_analogies` returns them. Those with a word that has no vector are counted, but not answered.
    method
        How the answer is computed from the three words.
    exclude
        Whether a, b and c themselves are excluded as answers, as in all published figures.
    find
        How a word is looked up; by default :func:`lookup`, which tries lower case too.

    Examples
    --------
    >>> words = ["man", "woman", "king", "queen", "apple"]
    >>> vectors = WordVectors(words, [[1, 0, 0.1], [1, 1, 0.1], [1, 0, 1], [1, 1, 1], [-1, 0, 0]])
    >>> questions = [Question("family", "man", "woman", "king", "queen"),
    ...              Question("family", "boy", "girl", "king", "queen")]
    >>> result = analogies(vectors, questions)
    >>> result.total, result.total.accuracy, result.total.accuracy_of_all, result.answers
    (AnalogyScore(asked=2, known=1, correct=1), 1.0, 0.5, ['queen', None])
    """
    if method not in get_args(Method):
        raise OptionError(
            f"method must be '3cosadd' or '3cosmul', not {method!r}",
            given=method,
            known=("3cosadd", "3cosmul"),
        )
    questions = list(questions)
    places = _places(vectors, questions, find or lookup(vectors))
    known = np.all(places >= 0, axis=1)
    answers = np.full(len(questions), -1, dtype=np.int64)
    if known.any():
        asked = places[known]
        blocks = range(0, len(asked), _QUESTIONS_AT_ONCE)
        found = [_answers(vectors, asked[i : i + _QUESTIONS_AT_ONCE, :3], method, exclude) for i in blocks]
        answers[known] = np.concatenate(found)
    correct = known & (answers == places[:, 3])

    def score(which: NDArray[np.bool_]) -> AnalogyScore:
        return AnalogyScore(int(which.sum()), int((which & known).sum()), int((which & correct).sum()))

    syntactic = np.array([question.syntactic for question in questions], dtype=bool)
    names = list(dict.fromkeys(question.section for question in questions))
    number = {name: i for i, name in enumerate(names)}
    section = np.array([number[question.section] for question in questions], dtype=np.int64)
    return AnalogyResult(
        total=score(np.ones(len(questions), dtype=bool)),
        semantic=score(~syntactic),
        syntactic=score(syntactic),
        sections={name: score(section == i) for i, name in enumerate(names)},
        answers=[vectors.words[i] if i >= 0 else None for i in answers.tolist()],
        correct=correct,
    )


def _places(vectors: WordVectors, questions: Sequence[Question], find: Find) -> NDArray[np.int64]:
    """The rows of the four words of each question, -1 where a word is not known."""
    words = dict.fromkeys(word for question in questions for word in question[1:])
    keys = [find(word) for word in words]
    found = vectors.encode([key for key in keys if key is not None]).tolist()[::-1]
    row = {word: -1 if key is None else found.pop() for word, key in zip(words, keys)}
    places = [[row[word] for word in question[1:]] for question in questions]
    return np.array(places, dtype=np.int64).reshape(len(questions), 4)


def _answers(
    vectors: WordVectors, asked: NDArray[np.int64], method: Method, exclude: bool
) -> NDArray[np.int64]:
    """The best word for each row of places of a, b and c.

    Few words make many questions, and both methods need no more than the cosines of these words with all others.
    These are held for a block of the vocabulary at a time.
    """
    distinct, places = np.unique(asked, return_inverse=True)
    places = places.reshape(asked.shape)
    queries = _float32(vectors.normalised(distinct))
    queries = queries.toarray() if vectors.is_sparse else queries
    best = np.full(len(asked), -1, dtype=np.int64)
    highest = np.full(len(asked), -np.inf, dtype=np.float32)
    step = max(1, _COSINES_AT_ONCE // len(distinct))
    for start in range(0, len(vectors), step):
        block = _float32(vectors.normalised(slice(start, start + step)))
        cosines = np.ascontiguousarray((block @ queries.T).T)  # [distinct word, word of the block]
        if method == "3cosmul":
            cosines += 1
            cosines /= 2
        rows = max(1, _SCORES_AT_ONCE // cosines.shape[1])
        for i in range(0, len(asked), rows):
            scores = _votes(cosines, places[i : i + rows], method)
            if exclude:
                words = asked[i : i + rows] - start
                question, word = np.nonzero((words >= 0) & (words < scores.shape[1]))
                scores[question, words[question, word]] = -np.inf
            top = scores.argmax(axis=1)
            values = scores[np.arange(len(top)), top]
            better = np.flatnonzero(values > highest[i : i + rows])
            highest[i + better], best[i + better] = values[better], top[better] + start
    return best


def _votes(cosines: Scores, places: NDArray[np.int64], method: Method) -> Scores:
    a, b, c = places.T
    scores: Scores = cosines[b]
    if method == "3cosadd":
        scores += cosines[c]
        scores -= cosines[a]
    else:
        scores *= cosines[c]
        scores /= cosines[a] + _EPSILON
    return scores


def _sections(path: FilePath) -> list[Question]:
    section = None
    questions = []
    for line, text in read_lines(path):
        words = fields(text)
        if text.startswith(":"):
            section = text[1:].strip()
        elif words:
            if section is None:
                raise InputError(
                    "a question before the first section",
                    path=os.fspath(path),
                    line=line,
                    remedy="put a line such as ': family' before it",
                )
            if len(words) != 4:
                what = f"{len(words)} words where four are needed"
                raise InputError(what, path=os.fspath(path), line=line)
            questions.append(Question(section, *words))
    return questions


def _table(path: FilePath) -> list[Question]:
    questions = []
    for line, row in read_columns_named(path, ["type", "word1", "word2", "word3", "target"]):
        if not all(row[1:]):
            raise InputError("a word is missing", path=os.fspath(path), line=line)
        questions.append(Question(*row))
    return questions


def _float32(matrix: Any) -> Any:
    return matrix.astype(np.float32, copy=False)
