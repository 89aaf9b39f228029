"""Letter to sound as tagging: pronouncing dictionaries, and phonemes aligned with letters.

The label of a letter is its contribution to the sound: nothing (``_``), a phoneme (``K``) or two (``K|S``).
NETtalk is aligned; the CMU dictionary is not, so :class:`Aligner` learns the alignment.
"""

from __future__ import annotations

import itertools
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import read_lines
from spinney.corpus.compressed import CHUNK, FilePath
from spinney.corpus.lines import lines_of
from spinney.errors import InputError, NotFittedError, OptionError, did_you_mean_file
from spinney.progress import log

SILENT = "_"
JOINT = "|"
#: Maximum number of letters per word: the lattice of a longer one could underflow.
LONGEST = 100

Pair = tuple[str, Sequence[str]]
Rows = list[tuple[str, str]]

_VARIANT = re.compile(r"\(\d+\)$")
#: The probabilities that a letter takes no, one or two phonemes, before EM.
_AT_FIRST = (0.2, 0.7, 0.1)
#: The probability of an emission never seen in training: it keeps every word alignable, at a low probability.
_UNSEEN = 1e-20


class NettalkWord(NamedTuple):
    """A word of NETtalk: a phoneme and a stress symbol for each letter."""

    letters: str
    phonemes: str
    stresses: str


def read_nettalk(path: FilePath) -> list[NettalkWord]:
    r"""The words of NETtalk's dictionary (lines ``word TAB phonemes TAB stresses TAB class``).

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "nettalk.data")
    >>> with open(path, "w") as file:
    ...     _ = file.write("aback\txb@k-\t0>1<<\t0\n")
    >>> read_nettalk(path)
    [NettalkWord(letters='aback', phonemes='xb@k-', stresses='0>1<<')]
    """
    words = []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) < 3 or not len(fields[0]) == len(fields[1]) == len(fields[2]):
            remedy = "the format is word TAB phonemes TAB stresses, with one symbol per letter"
            raise InputError("not a NETtalk line", path=os.fspath(path), line=number, remedy=remedy)
        words.append(NettalkWord(*fields[:3]))
    return words


def nettalk_sentences(path: FilePath, joint_stress: bool = False) -> list[Rows]:
    """Each word of NETtalk as a sentence of rows (letter, phoneme), or with ``joint_stress`` (letter, both)."""
    return [
        [(letter, phoneme + stress if joint_stress else phoneme) for letter, phoneme, stress in zip(*word)]
        for word in read_nettalk(path)
    ]


def read_cmudict(source: FilePath | Iterable[str], stress: bool = False) -> list[tuple[str, list[str]]]:
    """The words of the CMU pronouncing dictionary, in lower case, with their phonemes.

    A word occurs once for each of its pronunciations. The digits that mark stress are dropped unless ``stress``.

    Parameters
    ----------
    source
        A file, or its lines: ``WORD  P H``, variants ``WORD(2)  P H``, comments after ``;;;`` or ``#`` (the
        dictionary's own format), or ``WORD 1 P H`` (NLTK's). Of a .zip file, the member called ``cmudict``.

    Examples
    --------
    >>> read_cmudict([";;; the start", "ABACK  AH0 B AE1 K", "axe(2) AE1 K S # an axe", "FOX 1 F AA1 K S"])
    [('aback', ['AH', 'B', 'AE', 'K']), ('axe', ['AE', 'K', 'S']), ('fox', ['F', 'AA', 'K', 'S'])]
    """
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    entries = []
    for number, line in _cmudict_lines(source):
        fields = line.partition(" #")[0].split()
        if not fields or line.startswith((";;;", "##")):
            continue
        word, *phonemes = fields
        if phonemes and phonemes[0].isdecimal():
            del phonemes[0]
        if not phonemes:
            raise InputError(
                "a word without phonemes", path=path, line=number, remedy="the format is WORD  P H ..."
            )
        if not stress:
            phonemes = [phoneme.rstrip("012") for phoneme in phonemes]
        entries.append((_VARIANT.sub("", word).lower(), phonemes))
    return entries


def cmudict_sentences(
    source: FilePath | Iterable[str], stress: bool = False, aligner: Aligner | None = None
) -> list[Rows]:
    """Each pronunciation of :func:`read_cmudict` as a sentence of rows (letter, label).

    The words are aligned by ``aligner``, or by one that is fitted to them; those that cannot be are dropped.
    """
    pairs = read_cmudict(source, stress)
    aligner = Aligner().fit(pairs) if aligner is None else aligner
    aligned = zip(pairs, aligner.align_all(pairs))
    return [list(zip(word, labels)) for (word, _), labels in aligned if labels is not None]


class Aligner:
    """Aligns letters with phonemes by EM: p(phonemes | letters) = Σ over alignments of Π p(label | letter).

    Parameters
    ----------
    max_phonemes
        Maximum number of phonemes per letter, 1 or 2.
    max_iter, tol
        EM stops after ``max_iter`` rounds, or when a round raises the log-likelihood by less than ``tol`` of it.

    Attributes
    ----------
    log_likelihoods_ : list of float, before each round.
    n_dropped_ : int, words that could not be aligned: too many phonemes, no letters, or over :data:`LONGEST`.

    Examples
    --------
    >>> pairs = [("ax", ["A", "K", "S"]), ("a", ["A"]), ("at", ["A", "T"]), ("ta", ["T", "A"]), ("tea", ["T", "I"])]
    >>> aligner = Aligner().fit(pairs)
    >>> aligner.align("tax", ["T", "A", "K", "S"])
    ['T', 'A', 'K|S']
    """

    def __init__(self, max_phonemes: int = 2, *, max_iter: int = 50, tol: float = 1e-5) -> None:
        self.max_phonemes = max_phonemes
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, pairs: Iterable[Pair]) -> Self:
        """Learn p(label | letter) from words and their phonemes."""
        from spinney.tagging._g2p_kernels import expected_counts

        if self.max_phonemes not in (1, 2):
            raise OptionError(f"max_phonemes must be 1 or 2, not {self.max_phonemes}")
        every = list(pairs)
        known = [pair for pair in every if self._alignable(*pair)]
        self.n_dropped_ = len(every) - len(known)
        if not known:
            raise InputError("no word can be aligned", remedy=f"words need {self._limits()}")
        if self.n_dropped_:
            log.info(
                "%d of %d words were dropped because they do not have %s",
                self.n_dropped_,
                len(every),
                self._limits(),
            )
        self.letters_ = _numbering(letter for word, _ in known for letter in word)
        self.phonemes_ = _numbering(phoneme for _, sound in known for phoneme in sound)
        words = self._encode(known)
        emit = self._initial()
        self.log_likelihoods_: list[float] = []
        for _ in range(self.max_iter):
            counts = np.zeros_like(emit)
            log_likelihood = expected_counts(*words, emit, self._n_symbols, self.max_phonemes, counts)
            if log_likelihood == -np.inf:
                raise InputError("the likelihood of a word underflows", remedy="leave out very long words")
            totals = counts.sum(axis=1, keepdims=True)
            emit = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
            self.log_likelihoods_.append(log_likelihood)
            if len(self.log_likelihoods_) > 1:
                gain = log_likelihood - self.log_likelihoods_[-2]
                if gain < self.tol * abs(log_likelihood):
                    break
        self.emit_ = emit
        return self

    def align(self, word: str, phonemes: Sequence[str]) -> list[str]:
        """The label of each letter in the best alignment."""
        labels = self.align_all([(word, phonemes)])[0]
        if labels is None:
            what = f"{word!r} cannot be aligned with {' '.join(phonemes)}"
            raise InputError(what, remedy=f"words need {self._limits()}")
        return labels

    def align_all(self, pairs: Sequence[Pair]) -> list[list[str] | None]:
        """The labels of each word, or None for those that cannot be aligned."""
        from spinney.tagging._g2p_kernels import best_alignments

        if not hasattr(self, "emit_"):
            raise NotFittedError("this aligner has not been fitted: call fit first")
        possible = [self._alignable(*pair) for pair in pairs]
        known = list(itertools.compress(pairs, possible))
        if not known:
            return [None] * len(pairs)
        words = self._encode(known)
        taken = np.zeros(len(words.letters), np.int64)
        score = np.log(np.maximum(self.emit_, _UNSEEN))
        best_alignments(*words, score, self._n_symbols, self.max_phonemes, taken)
        each = iter(taken.tolist())
        aligned = iter([_labels(sound, itertools.islice(each, len(word))) for word, sound in known])
        return [next(aligned) if ok else None for ok in possible]

    def _alignable(self, word: str, phonemes: Sequence[str]) -> bool:
        return 0 < len(word) <= LONGEST and len(phonemes) <= self.max_phonemes * len(word)

    def _limits(self) -> str:
        return f"1 to {LONGEST} letters and at most {self.max_phonemes} phonemes per letter"

    @property
    def _n_symbols(self) -> int:
        return len(self.phonemes_) + 1  # the last is for phonemes never seen

    def _initial(self) -> NDArray[np.float64]:
        """The same for every letter: one phoneme is likelier than none or two, and all phonemes are equally likely."""
        P = self._n_symbols
        none, one, two = _AT_FIRST
        row = [np.full(1, none), np.full(P, one / P), np.full(P * P, two / P**2)][: self.max_phonemes + 1]
        return np.tile(np.concatenate(row), (len(self.letters_) + 1, 1))

    def _encode(self, pairs: Sequence[Pair]) -> _Words:
        letters, phonemes = self.letters_, self.phonemes_
        return _Words(
            np.array([letters.get(letter, len(letters)) for word, _ in pairs for letter in word], np.int64),
            _offsets(len(word) for word, _ in pairs),
            np.array([phonemes.get(one, len(phonemes)) for _, sound in pairs for one in sound], np.int64),
            _offsets(len(sound) for _, sound in pairs),
        )


class _Words(NamedTuple):
    """Words as flat arrays: those of word ``w`` are ``letters[letter_ptr[w]:letter_ptr[w+1]]``, and so on."""

    letters: NDArray[np.int64]
    letter_ptr: NDArray[np.int64]
    phonemes: NDArray[np.int64]
    phoneme_ptr: NDArray[np.int64]


def _numbering(symbols: Iterable[str]) -> dict[str, int]:
    return {symbol: number for number, symbol in enumerate(sorted(set(symbols)))}


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.array([0, *itertools.accumulate(lengths)], np.int64)


def _labels(phonemes: Sequence[str], taken: Iterable[int]) -> list[str]:
    """The label of each letter, given the number of phonemes of each."""
    labels = []
    j = 0
    for k in taken:
        labels.append(JOINT.join(phonemes[j : j + k]) or SILENT)
        j += k
    return labels


def _cmudict_lines(source: FilePath | Iterable[str]) -> Iterator[tuple[int, str]]:
    if not isinstance(source, str | os.PathLike):
        yield from enumerate(source, start=1)
    elif os.fspath(source).lower().endswith(".zip"):
        try:
            with zipfile.ZipFile(source) as archive:
                member = next(name for name in archive.namelist() if name.rsplit("/", 1)[-1] == "cmudict")
                with archive.open(member) as file:
                    yield from lines_of(iter(lambda: file.read(CHUNK), b""), source, "latin-1")
        except FileNotFoundError:
            remedy = did_you_mean_file(source)
            raise InputError("no such file", path=os.fspath(source), remedy=remedy) from None
        except StopIteration:
            raise InputError("the archive has no file cmudict", path=os.fspath(source)) from None
        except InputError:
            raise
        except (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            remedy = "it is corrupt, encrypted, or of a kind that Python cannot read"
            what = f"not a valid .zip file: {' '.join(str(error).lower().split())}"
            raise InputError(what, path=os.fspath(source), remedy=remedy) from None
    else:
        yield from read_lines(source, "latin-1")
