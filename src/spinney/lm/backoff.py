"""Back-off models: the form to which every smoothed n-gram model can be reduced, and that ARPA files store.

p(y | x) is the probability of the longest seen gram that x y ends with, times the back-off weights of the seen contexts
that are longer than that gram's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import Vocabulary
from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.lm.diskcolumns import Columns, filled, held_columns
from spinney.lm.model import LanguageModel, Vector
from spinney.lm.storedgrams import gram_tensors, in_order, stored_grams, stored_values, value_tensors
from spinney.lm.stream import Ids, Stream
from spinney.lm.suffixtrie import Counts
from spinney.lm.tables import GramTable, check_ids, gram_bounds, longer_contexts
from spinney.lm.wordtable import word_table

_LOG10 = float(np.log(10.0))
_ONE_SENTENCE = np.empty(0)
_LARGE = 20_000_000  # grams


class BackoffModel(LanguageModel):
    """Probabilities of grams and back-off weights of contexts, as natural logarithms.

    Made by :func:`~spinney.lm.smoothing.fit_ngram` or :func:`~spinney.lm.arpa.read_arpa`.

    Parameters
    ----------
    vocabulary
        The words.
    table
        The grams.
    logp : float64 [grams]
        log p of each gram.
    backoff : float64 [contexts]
        The logarithm of each context's weight; that of the empty context is never used.
    facts
        How the model was made.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> model = fit_ngram(text, "witten-bell", order=2)
    >>> model
    BackoffModel(order 2, 4 words, 10 grams)
    >>> model.next_words(["a"], 1)
    [('rose', 0.7515...)]
    """

    kind: ClassVar[str] = "lm/BackoffModel"

    def __init__(
        self,
        vocabulary: Vocabulary,
        table: GramTable,
        logp: Vector,
        backoff: Vector,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        if table.n_outcomes != len(vocabulary) + 1:
            raise OptionError("the n-grams do not match the vocabulary")
        self.vocabulary, self.table, self.logp, self.backoff = vocabulary, table, logp, backoff
        self.facts = dict(facts or {})
        #: Where the arrays of its file are made: a model that was estimated on disk is also saved from there.
        self.columns: Callable[[], AbstractContextManager[Columns]] = held_columns

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made for queries, which is large, and in part of this process alone."""
        made = ("_query", "_text_query", "_sentence_score", "_number")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __repr__(self) -> str:
        grams = int(np.count_nonzero(self.logp > -np.inf))
        return f"BackoffModel(order {self.order}, {len(self.vocabulary):,} words, {grams:,} grams)"

    @property
    def order(self) -> int:
        """The length of the longest grams."""
        return self.table.order

    def event_logprobs(self, stream: Stream) -> Vector:
        """The natural logarithm of the probability of each event of a stream."""
        check_ids(stream.ids, self.table.n_symbols)
        n_events = int(np.count_nonzero(stream.ids != self.start))
        return self._scores(np.ascontiguousarray(stream.ids), n_events)

    def logprob(self, tokens: Sequence[str]) -> Vector:
        """The natural log-probability of each word of a sentence, and last of its end."""
        return self._scores(self._ids(tokens), len(tokens) + 1)

    def score(self, tokens: str | Sequence[str], *, end: bool = True) -> float:
        """The logarithm **to base 10** of the probability of a sentence, as KenLM and SRILM give it.

        A sentence is a list of words, or a string that is split at white space.
        """
        if isinstance(tokens, str):
            return self._sentence_score(end, tokens.encode("utf-8", "surrogatepass")) / _LOG10
        kernel, arguments = self._text_query
        text = " ".join(tokens).encode("utf-8", "surrogatepass")
        total, n, white = kernel(text, _ONE_SENTENCE, end, *arguments)
        if n != len(tokens) + 1 + end or white != max(len(tokens) - 1, 0):
            values = self.logprob(tokens)  # a word is empty, or has white space in it
            total = values.sum() if end else values[:-1].sum()
        return float(total / _LOG10)

    def scores(self, sentences: Iterable[str | Sequence[str]]) -> Vector:
        """What :meth:`score` gives for each sentence, in one call.

        Examples
        --------
        >>> from spinney.corpus import sentence_arrays
        >>> from spinney.lm.smoothing import fit_ngram
        >>> model = fit_ngram(sentence_arrays([["a", "rose"], ["is", "a", "rose"]]), "witten-bell", order=2)
        >>> model.scores(["a rose", "is a rose"]).round(4)
        array([-0.6542, -0.9048])
        """
        sentences = list(sentences)
        lines = [sentence for sentence in sentences if isinstance(sentence, str)]
        if len(lines) < len(sentences):
            return np.array([self.score(sentence) for sentence in sentences])
        text = "\n".join(lines)
        if text.count("\n") >= max(len(lines), 1):  # some are of several lines
            text = "\n".join(line.replace("\n", " ") for line in lines)
        totals = np.empty(len(sentences))
        if len(totals):
            kernel, arguments = self._text_query
            kernel(text.encode("utf-8", "surrogatepass"), totals, True, *arguments)
        return totals / _LOG10

    def _ids(self, tokens: Sequence[str]) -> Ids:
        """A sentence with its marks."""
        start = self.table.n_symbols - 1
        return np.fromiter([start, *map(self._number, tokens), start - 1], np.int32, len(tokens) + 2)

    @cached_property
    def _number(self) -> Callable[[str], int]:
        """The number of a word; -1 for one outside a closed vocabulary."""
        numbering = self.vocabulary.numbering()
        if self.vocabulary.unknown is not None:
            return numbering.__getitem__
        return lambda word: numbering.get(word, -1)

    def _scores(self, ids: Ids, n_events: int) -> Vector:
        scores = np.empty(n_events)
        kernel, arguments = self._query
        kernel(ids, scores, *arguments)
        return scores

    @cached_property
    def _sentence_score(self) -> Callable[[bool, bytes], float]:
        """The natural logarithm of the probability of a sentence of bytes, with its end or without."""
        from spinney.compiling import bound
        from spinney.lm._wordtable_kernels import sentence_score

        return bound(sentence_score, self._text_query[1], (True, b""))

    @cached_property
    def _text_query(self) -> tuple[Any, tuple[Any, ...]]:
        """The kernel that scores sentences of bytes, and all that it takes besides them."""
        from spinney.lm._wordtable_kernels import text_scores

        return text_scores, (*word_table(self.vocabulary), *self._query[1])

    @cached_property
    def _query(self) -> tuple[Any, tuple[Any, ...]]:
        """The kernel that scores, and all that it takes besides the text."""
        from spinney.lm._backoff_kernels import backoff_scores, fill_rows

        table = self.table
        # Most grams that are asked for are not there, and a table with room says so sooner; large models have less.
        longer = table.n_grams - table.n_symbols
        rows = _aligned(table.n_symbols + 2 + (5 if longer < _LARGE else 3) * longer // 2)
        fill_rows(
            table.gram_ptr, table.symbol, table.following, self.logp, self.backoff, table.n_symbols, rows
        )
        return backoff_scores, (table.order, table.n_symbols, rows)

    def distribution(self, history: Ids) -> Vector:
        """The probability of each word, and last of the end, after a history."""
        contexts = self.table.contexts_after(np.asarray(history))
        return dense(self.table, self.logp, self.backoff, contexts)

    def match_depths(self, stream: Stream) -> Ids:
        """How many symbols before each event were ever seen together in training, before anything."""
        contexts, _ = self.table.walk(np.ascontiguousarray(stream.ids))
        return np.asarray(np.count_nonzero(contexts >= 0, axis=1) - 1, np.int32)

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the model keeps besides its vocabulary and facts."""
        with self.columns() as column:
            ordered = in_order(self.table, column)
            table = ordered.table

            def taken(name: str, values: Vector, places: Counts) -> NDArray[np.float32]:
                return filled(
                    column(name, np.float32), len(places), lambda a, b: values[places[a:b]] / _LOG10
                )

            p, weights = (
                taken("log10p", self.logp, ordered.grams),
                taken("log10_backoff", self.backoff, ordered.contexts),
            )
            tensors = {
                **gram_tensors(table, column),
                **value_tensors("log10p", p, gram_bounds(table)[1:], column),
                **value_tensors("log10_backoff", weights, longer_contexts(table), column),
            }
        return Parts({}, tensors, {})

    @classmethod
    def from_parts(cls, file: ModelFile, vocabulary: Vocabulary) -> Self:
        """The model in a file."""
        table = stored_grams(file, len(vocabulary))
        if "logp" in file.tensors:  # of an earlier version
            logp = np.array(file.tensor("logp", np.float64, low=-np.inf, high=0))
            backoff = np.array(file.tensor("backoff", np.float64, low=-np.inf))
            if len(logp) != table.n_grams or len(backoff) != table.n_contexts:
                raise file.error("damaged: some n-grams have no probability, or some contexts no weight")
        else:
            logp = stored_values(file, "log10p", gram_bounds(table)[1:], 0) * _LOG10
            backoff = stored_values(file, "log10_backoff", longer_contexts(table), None) * _LOG10
        return cls(vocabulary, table, logp, backoff)


def _aligned(n: int) -> NDArray[np.int64]:
    """Rows of four numbers, all -1, none of which lies in two cache lines."""
    memory = np.full(4 * n + 8, np.int64(-1))
    skip = -(memory.ctypes.data // 8) % 8
    return memory[skip : skip + 4 * n].reshape(n, 4)


def dense(table: GramTable, logp: Vector, backoff: Vector, contexts: Sequence[int]) -> Vector:
    """The distribution after a chain of contexts, the empty one first: each scales, and says what it has seen."""
    p: Vector = np.exp(logp[: table.n_symbols])
    for context in contexts[1:]:
        grams = slice(table.gram_ptr[context], table.gram_ptr[context + 1])
        p *= np.exp(backoff[context])
        p[table.symbol[grams]] = np.exp(logp[grams])
    return p[:-1]
