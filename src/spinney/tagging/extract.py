"""Patterns applied to columns: the observations of each token as numbers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.values import values_of
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, OptionError
from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.columns import Columns
from spinney.tagging.patterns import (
    Field,
    Look,
    Pattern,
    Structure,
    check_structures,
    parse_line,
    viewer,
)
from spinney.tagging.sequences import Observations

Which = Literal["u", "b"]
Ints = NDArray[np.int32]

_NOTHING, _NOT_LOOKED = -1, -2
#: Tokens, and at most observations, per call of a kernel: the table has room for all of them.
_TOKENS, _OBSERVATIONS = 1 << 12, 1 << 22
_TYPES: dict[str, type[WordClasses] | type[WordVectors]] = {
    "WordClasses": WordClasses,
    "WordVectors": WordVectors,
}


class Extractor:
    """Finds the observations that patterns make in columns, and numbers them by first occurrence.

    Parameters
    ----------
    patterns
        Of :func:`~spinney.tagging.patterns.parse_patterns`.
    structures
        The word classes and vectors that the patterns name.

    Examples
    --------
    >>> from spinney.tagging.patterns import parse_patterns
    >>> extractor = Extractor(parse_patterns("U0:%x[0,0]\\nU1:%suffix[0,0,3]\\nB"))
    >>> unigrams, bigrams = extractor.learn(Columns.from_sentences([[("he",), ("waited",)]]))
    >>> extractor.names("u"), extractor.names("b")
    (['U0:he', 'U0:waited', 'U1:ted'], ['B'])
    >>> unigrams, bigrams = extractor.observe(Columns.from_sentences([[("she",), ("hated",)]]))
    >>> unigrams.ptr, unigrams.ids
    (array([0, 0, 1]), array([2], dtype=int32))
    """

    def __init__(
        self, patterns: Sequence[Pattern], structures: Mapping[str, Structure] | None = None
    ) -> None:
        self.patterns = tuple(patterns)
        self.structures = dict(structures or {})
        check_structures(self.patterns, self.structures)
        skeletons = Numbering()
        skeleton_of = [skeletons["\0".join(pattern.literals)] for pattern in self.patterns]
        self._skeleton_of = np.array(skeleton_of, np.int32)
        self._width_of = np.array([len(pattern.fields) for pattern in self.patterns], np.int64)
        fields = chain.from_iterable(pattern.fields for pattern in self.patterns)
        columns_of: dict[Look, set[int]] = {}
        for field in fields:
            columns_of.setdefault(field.look, set()).add(field.column)
        self._columns_of = columns_of
        self._programs: dict[Which, _Program] = {
            "u": _Program(self.patterns, "u", list(columns_of)),
            "b": _Program(self.patterns, "b", list(columns_of)),
        }
        self._tables: dict[Which, _Table] = {"u": self._table(), "b": self._table()}
        self._read_symbols: Callable[[], Numbering] = Numbering
        self._views: dict[bool, _Views] = {}

    @cached_property
    def _symbols(self) -> Numbering:
        """What fields have seen, numbered; those of a file are decoded when they are first needed."""
        return self._read_symbols()

    @classmethod
    def knowing(
        cls, patterns: Sequence[Pattern], seen: Mapping[Which, Sequence[tuple[int, tuple[str, ...]]]]
    ) -> Self:
        """An extractor that knows these observations: each is the index of its pattern, and what its fields see.

        Examples
        --------
        >>> from spinney.tagging.patterns import parse_patterns
        >>> extractor = Extractor.knowing(parse_patterns("U:%x[-1,0]/%x[0,0]\\nB"), {"u": [(0, ("a", "b"))], "b": []})
        >>> extractor.names("u")
        ['U:a/b']
        """
        extractor = cls(patterns)
        for which, observations in seen.items():
            records = np.full((len(observations), 1 + extractor._width_of.max(initial=0)), _NOTHING, np.int32)
            for record, (pattern, texts) in zip(records, observations):
                record[0] = pattern
                record[1 : 1 + len(texts)] = [extractor._symbols[text] for text in texts]
            extractor._tables[which] = extractor._table(records)
        return extractor

    def _table(self, records: Ints | None = None) -> _Table:
        return _Table(self._skeleton_of, self._width_of, records)

    def __getstate__(self) -> dict[str, Any]:
        # Views are a cache, tied to its pool by a weak reference; symbols may still be in a file.
        return self.__dict__ | {"_views": {}, "_symbols": self._symbols, "_read_symbols": Numbering}

    def __repr__(self) -> str:
        return f"Extractor({len(self.patterns)} patterns, {self.n_unigrams} + {self.n_bigrams} observations)"

    @property
    def required_columns(self) -> int:
        """The minimum number of columns of the data."""
        return max((column + 1 for columns in self._columns_of.values() for column in columns), default=0)

    @property
    def n_unigrams(self) -> int:
        """Known observations that are seen with one label."""
        return self._tables["u"].n

    @property
    def n_bigrams(self) -> int:
        """Known observations that are seen with a pair of labels."""
        return self._tables["b"].n

    def learn(self, columns: Columns) -> tuple[Observations, Observations]:
        """The unigram and bigram observations of each token; new ones are numbered and known from now on."""
        self._views.pop(False, None)  # what was unknown before may be known now
        return self._observed(columns, learn=True)

    def observe(self, columns: Columns) -> tuple[Observations, Observations]:
        """The known observations of each token."""
        return self._observed(columns, learn=False)

    def _observed(self, columns: Columns, learn: bool) -> tuple[Observations, Observations]:
        self._check_width(columns)
        views = self._views.get(learn)
        if views is None or views.pool() is not columns.pool:
            views = self._views[learn] = _Views(columns.pool, self._columns_of, self.structures)
        views.look(columns, self._symbols, learn)
        unigrams, bigrams = (self._numbered(which, columns, views, learn) for which in ("u", "b"))
        views.forget_lists()
        return unigrams, bigrams

    def _check_width(self, columns: Columns) -> None:
        for pattern in self.patterns if columns.n_tokens else ():
            for field in pattern.fields:
                if field.column >= columns.width:
                    has = f"the data have {columns.width} column{'s' * (columns.width != 1)}"
                    raise InputError(
                        f"{pattern.place} needs column {field.column}, but {has}",
                        remedy="columns are counted from 0",
                    )

    def _numbered(self, which: Which, columns: Columns, views: _Views, learn: bool) -> Observations:
        from spinney.tagging._extract_kernels import number_observations

        program, table = self._programs[which], self._tables[which]
        edges = program.edges(self._symbols, learn)
        longest_list = int(np.diff(views.list_ptr).max(initial=0))
        per_token = sum(longest_list**n_lists for n_lists in program.patterns[:, 1].tolist())
        step = max(1, min(_TOKENS, _OBSERVATIONS // max(per_token, 1)))
        offsets = np.ascontiguousarray(columns.offsets, np.int64)
        symbols = np.ascontiguousarray(columns.symbols, np.int32)
        n_tokens = columns.n_tokens
        ptr = np.zeros(n_tokens + 1, np.int64)
        id_pieces = [np.empty(0, np.int32)]
        value_pieces = [np.empty(0)]
        for start in range(0, n_tokens, step):
            stop = min(start + step, n_tokens)
            room = (stop - start) * per_token
            table.reserve(room if learn else 0)
            ids = np.empty(room, np.int32)
            values = np.empty(room if program.has_lists else 0)
            here = ptr[start : stop + 1].copy()
            table.n = number_observations(
                start, stop, offsets, symbols,
                views.tables, edges, program.fields, program.patterns, program.pattern_fields,
                views.list_ptr, views.list_symbols, views.list_values,
                learn, table.n, table.slots, self._skeleton_of, table.records,
                here, ids, values,
            )  # fmt: skip
            ptr[start : stop + 1] = here + ptr[start]
            id_pieces.append(ids[: here[-1]].copy())
            value_pieces.append(values[: here[-1]].copy())
        values = np.concatenate(value_pieces)
        real = program.has_lists and not np.all(values == 1)
        return Observations(ptr, np.concatenate(id_pieces), table.n, values if real else None)

    def names(self, which: Which) -> list[str]:
        """The observations as strings, such as ``U05:the/DT``."""
        texts = list(self._symbols)
        forms = ["%s".join(text.replace("%", "%%") for text in p.literals) for p in self.patterns]
        widths = self._width_of.tolist()
        return [
            forms[pattern] % tuple([texts[symbol] for symbol in symbols[: widths[pattern]]])
            for pattern, *symbols in self._tables[which].known.tolist()
        ]

    def pattern_of(self, which: Which) -> Ints:
        """For each observation, the index of the pattern that made it first."""
        return self._tables[which].known[:, 0].copy()

    def class_of(self, which: Which) -> Ints:
        """For each observation of a single word, the class of that word; −1 for any other observation.

        The classes are the first word classes among the structures.
        """
        classes = next((one for one in self.structures.values() if isinstance(one, WordClasses)), None)
        if classes is None:
            raise OptionError("the grouping class needs word classes: give classes")
        known = self._tables[which].known
        of_symbol = np.array([*(classes.get(text, -1) for text in self._symbols), -1], np.int32)
        whole = (["x"], ["lower"])
        words = np.array([[field.look.view for field in p.fields] in whole for p in self.patterns], np.bool_)
        found = np.full(len(known), -1, np.int32)
        single = words[known[:, 0]]
        found[single] = of_symbol[known[single, 1]]
        return found

    def keep(self, unigrams: NDArray[np.bool_], bigrams: NDArray[np.bool_]) -> Extractor:
        """An extractor that knows only some of the observations, in the same order, and no other strings."""
        kept = Extractor(self.patterns, self.structures)
        records = {"u": self._tables["u"].known[unigrams], "b": self._tables["b"].known[bigrams]}
        used = np.zeros(len(self._symbols) + 1, np.bool_)  # the last is that of -1, which fills short records
        for table in records.values():
            used[table[:, 1:]] = True
        used[-1] = False
        new_number = np.where(used, np.cumsum(used) - 1, _NOTHING).astype(np.int32)
        kept._symbols = _numbering(text for text, is_used in zip(self._symbols, used.tolist()) if is_used)
        for which in kept._tables:
            records[which][:, 1:] = new_number[records[which][:, 1:]]
            kept._tables[which] = kept._table(records[which])
        return kept

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """For a model file: patterns, known observations, and the structures, whole."""
        header: dict[str, Any] = {
            "lines": [p.line for p in self.patterns],
            "paths": [p.path for p in self.patterns],
        }
        tensors: dict[str, NDArray[Any]] = {}
        texts = list(self._symbols)
        order = sorted(
            range(len(texts)), key=texts.__getitem__
        )  # neighbours share prefixes, and files are smaller
        strings: dict[str, Sequence[str]] = {
            "patterns": [pattern.text for pattern in self.patterns],
            "symbols": [texts[i] for i in order],
        }
        number = np.empty(len(texts), np.int32)
        number[order] = np.arange(len(texts))
        for which, table in self._tables.items():
            pattern_of, symbols = table.known[:, 0], table.known[:, 1:]
            tensors[f"observations.{which}.patterns"] = smallest(pattern_of)
            tensors[f"observations.{which}.symbols"] = smallest(number[symbols[self._is_filled(pattern_of)]])
        header["structures"] = {}
        for place, (name, structure) in enumerate(self.structures.items()):
            inner = structure.parts()
            header["structures"][name] = {"type": type(structure).__name__, "header": dict(inner.header)}
            tensors |= {f"structures/{place}/{key}": tensor for key, tensor in inner.tensors.items()}
            strings |= {f"structures/{place}/{key}": texts for key, texts in inner.strings.items()}
        return Parts(header, tensors, strings)

    @classmethod
    def from_parts(cls, model: ModelFile) -> Self:
        """The extractor that `parts` described, out of :meth:`spinney.files.ModelFile.part`."""
        with model.checked(InputError):
            extractor = cls(_stored_patterns(model), _stored_structures(model))
        extractor._read_symbols = partial(_stored_symbols, model)
        for which in extractor._tables:
            records = extractor._stored_records(which, model)
            with model.checked(ValueError):
                extractor._tables[which] = extractor._table(records)
        return extractor

    def _stored_records(self, which: Which, model: ModelFile) -> Ints:
        """The observations of a file: each of a pattern of this kind, with as many symbols as it has fields."""
        broken = "damaged: an observation without a pattern or symbols"
        if f"observations.{which}" in model.tensors:  # up to format 2
            records = model.tensor(f"observations.{which}", np.int32, ndim=2)
            if records.shape[1] != 1 + self._width_of.max(initial=0):
                raise model.error(broken)
            pattern_of, symbols = records[:, 0], records[:, 1:]
        else:
            pattern_of, symbols = (
                model.tensor(f"observations.{which}.{of}") for of in ("patterns", "symbols")
            )
        of_kind = self._programs[which].patterns[:, 0]
        if not _are_below(len(self.patterns), pattern_of) or not np.isin(pattern_of, of_kind).all():
            raise model.error(broken)
        n_symbols = len(model.strings["symbols"]) if "symbols" in model.strings else 0
        is_filled = self._is_filled(pattern_of)
        if symbols.ndim == 2:
            if np.any(symbols[~is_filled] != _NOTHING):
                raise model.error(broken)
            symbols = symbols[is_filled]
        if len(symbols) != np.count_nonzero(is_filled) or not _are_below(n_symbols, symbols):
            raise model.error(broken)
        records = np.full((len(pattern_of), 1 + is_filled.shape[1]), _NOTHING, np.int32)
        records[:, 0] = pattern_of
        records[:, 1:][is_filled] = symbols
        return records

    def _is_filled(self, pattern_of: NDArray[Any]) -> NDArray[np.bool_]:
        """Which symbols of the records of these patterns are in use."""
        return np.asarray(np.arange(self._width_of.max(initial=0)) < self._width_of[pattern_of][:, None])


def _are_below(limit: int, numbers: NDArray[Any]) -> bool:
    return not len(numbers) or bool(
        numbers.dtype.kind in "iu" and 0 <= numbers.min() <= numbers.max() < limit
    )


def _stored_symbols(model: ModelFile) -> Numbering:
    texts = model.texts("symbols")
    symbols = _numbering(texts)
    if len(symbols) < len(texts):
        raise model.error("damaged: a symbol occurs twice")
    return symbols


def _stored_patterns(model: ModelFile) -> list[Pattern]:
    texts, lines, paths = model.texts("patterns"), model.fact("lines", list), model.fact("paths", list)
    if not len(texts) == len(lines) == len(paths):
        raise InputError("the number of lines must equal the number of patterns")
    patterns = []
    for text, line, path in zip(texts, lines, paths):
        pattern = parse_line(
            text, line if isinstance(line, int) else None, path if isinstance(path, str) else None
        )
        if pattern is None:
            raise InputError("a pattern is empty")
        patterns.append(pattern)
    return patterns


def _stored_structures(model: ModelFile) -> dict[str, Structure]:
    structures: dict[str, Structure] = {}
    for place, (name, facts) in enumerate(model.fact("structures", dict).items()):
        match facts:
            case {"type": str(kind), "header": dict(header)} if kind in _TYPES:
                inner = replace(model, part_headers={f"structures/{place}": header})
                structures[name] = _TYPES[kind].from_parts(inner.part(f"structures/{place}"))
            case _:
                raise InputError(f"no type of structure for {name!r}")
    return structures


def _numbering(texts: Any) -> Numbering:
    return Numbering((text, number) for number, text in enumerate(texts))


class _Program:
    """The patterns of one kind as flat arrays, each distinct field once."""

    def __init__(self, patterns: Sequence[Pattern], which: Which, looks: list[Look]) -> None:
        number_of_look = {look: number for number, look in enumerate(looks)}
        fields: dict[Field, int] = {}
        rows: list[tuple[int, int, int, int]] = []
        pattern_fields: list[int] = []
        for number, pattern in enumerate(patterns):
            if pattern.kind not in (which, "*"):
                continue
            first = len(pattern_fields)
            pattern_fields += [fields.setdefault(field, len(fields)) for field in pattern.fields]
            rows.append((number, pattern.n_lists, first, len(pattern_fields)))
        self.distinct_fields = list(fields)
        self.patterns = np.array(rows, np.int64).reshape(-1, 4)
        self.has_lists = bool(self.patterns[:, 1].any())
        self.pattern_fields = np.array(pattern_fields, np.int64)
        self.fields = np.array(
            [(f.column, f.offset, f.absolute, number_of_look[f.look], f.look.is_valued) for f in fields],
            np.int64,
        ).reshape(-1, 5)

    def edges(self, symbols: Numbering, learn: bool) -> Ints:
        """The symbols seen before the start and after the end of a sentence: ``[field, side, distance - 1]``."""
        farthest = max((abs(field.offset) + 1 for field in self.distinct_fields), default=1)
        edges = np.full((len(self.distinct_fields), 2, farthest), _NOTHING, np.int32)
        for f, field in enumerate(self.distinct_fields):
            for distance in range(1, abs(field.offset) + 2):
                for side, sign in enumerate((-1, 1)):
                    edges[f, side, distance - 1] = _number(symbols, field.beyond(sign * distance), learn)
        return edges


def _number(symbols: Numbering, text: str | None, learn: bool) -> int:
    if text is None:
        return _NOTHING
    return symbols[text] if learn else symbols.get(text, _NOTHING)


class _Views:
    """What each look sees in each string of one pool: ``tables[look, symbol of the pool]`` is an extractor's symbol.

    For a look with real values it is the number of a list, and lists live for one call.
    """

    def __init__(
        self, pool: Numbering, columns_of: Mapping[Look, set[int]], structures: Mapping[str, Structure]
    ) -> None:
        self.pool = weakref.ref(pool)
        self.columns_of = columns_of
        self.structures = structures
        self.texts: list[str] = []
        self.tables = np.empty((len(columns_of), 0), np.int32)

    def forget_lists(self) -> None:
        self.list_ptr = np.zeros(1, np.int64)
        self.list_symbols = np.empty(0, np.int32)
        self.list_values = np.empty(0)

    def look(self, columns: Columns, symbols: Numbering, learn: bool) -> None:
        """Look at all strings of these columns that were not looked at before."""
        self.forget_lists()
        self.texts.extend(islice(columns.pool, len(self.texts), None))
        n_looks, room = self.tables.shape
        if len(self.texts) > room:
            more = np.full((n_looks, len(self.texts) + len(self.texts) // 2 - room), _NOT_LOOKED, np.int32)
            self.tables = np.concatenate([self.tables, more], axis=1)
        if not columns.n_tokens:
            return
        for table, (look, used_in) in zip(self.tables, self.columns_of.items()):
            is_used = np.zeros(len(self.texts), np.bool_)
            for column in used_in:
                is_used[columns.symbols[column]] = True
            if look.is_valued:
                self._list(look, table, np.flatnonzero(is_used), symbols, learn)
                continue
            new = np.flatnonzero(is_used & (table[: len(is_used)] == _NOT_LOOKED))
            seen = map(
                viewer(look, self.structures.get(look.argument)), map(self.texts.__getitem__, new.tolist())
            )
            table[new] = np.fromiter((_number(symbols, text, learn) for text in seen), np.int32, len(new))

    def _list(
        self, look: Look, table: Ints, used: NDArray[np.int64], symbols: Numbering, learn: bool
    ) -> None:
        """Add the list of each of these strings."""
        texts = [self.texts[i] for i in used.tolist()]
        if look.view == "vector":
            vectors = self.structures[look.argument]
            assert isinstance(vectors, WordVectors)
            rows = vectors.rows([text if vectors.gives(text) else text.lower() for text in texts])
            names = [f"{look.argument}/{i}" for i in range(vectors.dimension)]
            numbers = np.array([_number(symbols, name, learn) for name in names], np.int32)
            if vectors.is_sparse:
                lengths, items, values = np.diff(rows.indptr), numbers[rows.indices], rows.data
            else:
                known = np.array([vectors.gives(text) or text.lower() in vectors for text in texts], np.bool_)
                lengths = known * vectors.dimension
                items, values = np.tile(numbers, int(known.sum())), rows[known].ravel()
        else:
            try:
                lists = [values_of(text) for text in texts]
            except InputError as error:
                where = ", ".join(f"column {column}" for column in sorted(self.columns_of[look]))
                raise InputError(f"{where}: {error.what}", remedy=error.remedy) from None
            lengths = np.array([len(one) for one in lists])
            items = np.array([_number(symbols, name, learn) for one in lists for name, _ in one], np.int32)
            values = np.array([value for one in lists for _, value in one])
        table[used] = len(self.list_ptr) - 1 + np.arange(len(used))
        self.list_ptr = np.concatenate(
            [self.list_ptr, self.list_ptr[-1] + np.cumsum(lengths, dtype=np.int64)]
        )
        self.list_symbols = np.concatenate([self.list_symbols, items.astype(np.int32)])
        self.list_values = np.concatenate([self.list_values, values.astype(np.float64)])


class _Table:
    """Known observations, and a hash table to find them by.

    ``records[number]`` is the pattern that made the observation first and its symbols, filled up with -1.
    """

    def __init__(self, skeleton_of: Ints, width_of: NDArray[np.int64], records: Ints | None = None) -> None:
        self.skeleton_of, self.width_of = skeleton_of, width_of
        none = np.empty((0, 1 + int(width_of.max(initial=0))), np.int32)
        self.records = none if records is None else np.array(records)
        self.n = len(self.records)
        self.slots = np.full(2, -1, np.int32)  # filled on first use, so that reading a model needs no kernel
        if records is not None and _occur_twice(self.records):
            raise ValueError("an observation occurs twice")

    @property
    def known(self) -> Ints:
        """The records of the known observations."""
        return self.records[: self.n]

    def reserve(self, new: int) -> None:
        """Make room for this many new observations."""
        wanted = self.n + new
        if wanted > len(self.records):
            records = np.full((max(wanted, 3 * self.n // 2), self.records.shape[1]), _NOTHING, np.int32)
            records[: self.n] = self.known
            self.records = records
        if 2 * wanted >= len(self.slots):
            from spinney.tagging._extract_kernels import fill_slots

            self.slots = np.full(1 << (2 * wanted).bit_length(), -1, np.int32)
            fill_slots(self.slots, self.n, self.skeleton_of, self.width_of, self.records)


def _occur_twice(records: Ints) -> bool:
    """Whether any two records are equal: those with the same hash are compared."""
    mix = np.uint64(0x9E3779B97F4A7C15)
    hashes = np.zeros(len(records), np.uint64)
    for column in records.T:
        hashes = (hashes ^ column.astype(np.uint64)) * mix
        hashes ^= hashes >> np.uint64(32)
    ordered = np.sort(hashes)
    common = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(common):
        return False
    few = records[np.isin(hashes, common)]
    return len(np.unique(few, axis=0)) < len(few)
