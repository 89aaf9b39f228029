"""Data frames in memory: tables of pandas, polars and Arrow, and data sets of Hugging Face, where a path may stand.

None of these libraries is needed, or imported, unless the data come from it. A frame is known by what it can do: it has
the names of its columns, and gives a column by its name. Cells become text as those of JSON Lines do.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from spinney.errors import InputError, OptionError, did_you_mean, shown

#: The name of frames in messages.
FRAME = "the data frame"
#: What the only column of a series is called.
_SERIES = "text"


def is_frame(data: Any) -> bool:
    """Whether data are a table or a column of one: of pandas, polars or Arrow, or a data set of Hugging Face.

    Examples
    --------
    >>> is_frame("reviews.csv"), is_frame([["a", "rose"]])
    (False, False)
    """
    return _is_table(data) or is_series(data) or _is_lazy(data) or _is_split(data)


def is_series(data: Any) -> bool:
    """Whether data are one column: a series of pandas or polars, or an array of Arrow.

    Examples
    --------
    >>> import pandas
    >>> is_series(pandas.Series(["a", "b"])), is_series(["a", "b"])
    (True, False)
    """
    if hasattr(data, "to_list") or hasattr(data, "to_pylist"):
        return not _is_lazy(data) and not hasattr(data, "column_names") and not hasattr(data, "columns")
    return type(data).__name__ == "Column" and type(data).__module__.startswith("datasets.")


def _is_table(data: Any) -> bool:
    if _is_lazy(data) or is_series(data):
        return False
    if hasattr(data, "column_names"):  # Arrow, Hugging Face
        return hasattr(data, "__getitem__") and not _is_split(data)
    return hasattr(data, "__arrow_c_stream__") or (
        hasattr(data, "columns") and hasattr(data, "__dataframe__")
    )


def _is_lazy(data: Any) -> bool:
    return hasattr(data, "collect") and hasattr(data, "collect_schema")


def _is_split(data: Any) -> bool:
    """Several data sets of Hugging Face by the names of their splits."""
    return isinstance(data, Mapping) and hasattr(data, "column_names")


def name_of(data: Any) -> str:
    """The path of a file, or what a data frame is called in messages.

    Examples
    --------
    >>> name_of("reviews.csv")
    'reviews.csv'
    """
    return FRAME if is_frame(data) else os.fspath(data)


def column_names(frame: Any) -> list[str]:
    """The names of the columns; a series has one.

    Examples
    --------
    >>> import pandas
    >>> column_names(pandas.DataFrame({"body": ["a"], "topic": ["x"]}))
    ['body', 'topic']
    """
    if is_series(frame):
        return [_SERIES]
    if _is_split(frame):
        splits = ", ".join(map(str, frame))
        raise InputError(f"several data sets ({splits})", remedy="choose one, such as data['train']")
    if _is_lazy(frame):
        raise InputError("a lazy frame has no rows yet", remedy="give frame.collect()")
    found = getattr(frame, "column_names", None)  # Arrow, Hugging Face
    found = getattr(frame, "columns", None) if found is None else found
    return [str(name) for name in (_table(frame).column_names if found is None else found)]


def column(frame: Any, name: str) -> list[Any]:
    """The cells of a column, as objects of Python; classes of Hugging Face that are numbers get their names.

    Examples
    --------
    >>> import pandas
    >>> column(pandas.DataFrame({"body": ["a", None]}), "body")
    ['a', None]
    """
    if is_series(frame):
        found = frame
    else:
        known = column_names(frame)
        if known.count(name) != 1:
            several = "more than one" if name in known else "no"
            what = f"{several} column {name!r}: the columns are {', '.join(map(repr, known))}"
            raise InputError(what, path=FRAME, remedy=did_you_mean(name, set(known) - {name}))
        found = _own_column(frame, known.index(name), name)
    for method in ("to_pylist", "to_list"):
        if hasattr(found, method):
            cells = getattr(found, method)()
            break
    else:
        cells = list(found)
    names = _class_names(frame, name)
    return [_plain(cell, names) for cell in cells]


def _own_column(frame: Any, place: int, name: str) -> Any:
    if hasattr(frame, "iloc"):  # the names of columns of pandas need not be text
        return frame.iloc[:, place]
    if hasattr(frame, "with_format") and hasattr(frame, "features"):  # Hugging Face: no tensors
        frame = frame.with_format(None)
    return frame[name] if hasattr(frame, "__getitem__") else _table(frame)[name]


def _table(stream: Any) -> Any:
    """A table of Arrow from anything that streams one."""
    try:
        import pyarrow
    except ImportError:
        raise OptionError(
            f"a table of the type {type(stream).__name__} needs the package pyarrow: pip install pyarrow"
        ) from None
    return pyarrow.table(stream)


def _class_names(frame: Any, name: str) -> Sequence[str] | None:
    """The names of the classes that a column of a Hugging Face data set has as numbers, itself or in its lists."""
    features = getattr(frame, "features", None)
    feature = features.get(name) if isinstance(features, Mapping) else None
    while feature is not None:
        if isinstance(names := getattr(feature, "names", None), list):
            return names
        feature = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", None)
    return None


def _plain(cell: Any, names: Sequence[str] | None) -> Any:
    """A cell as text, a number, a list or None, which is also what NaN stands for."""
    if hasattr(cell, "as_py"):
        cell = cell.as_py()
    if hasattr(cell, "tolist"):  # of NumPy
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_plain(one, names) for one in cell]
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or str(cell) in ("<NA>", "NaT"):
        return None
    if names is not None and isinstance(cell, int) and 0 <= cell < len(names):
        return names[cell]
    return cell


def cell_text(cell: Any) -> str:
    """A cell as text: None the empty text, a list its items with spaces between them, a day without its hours.

    Examples
    --------
    >>> cell_text(5), cell_text(["a", "b"]), cell_text(None), cell_text(True), cell_text(datetime(2001, 5, 3))
    ('5', 'a b', '', 'true', '2001-05-03')
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, list):
        return " ".join(map(cell_text, cell))
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day, tzinfo=cell.tzinfo):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    return "" if cell is None else str(cell)


def frame_rows(
    frame: Any, columns: Sequence[str] | None = None, **how: Any
) -> Iterator[tuple[int, list[str]]]:
    """The names of columns, then the cells of each row as text, with the number of the row from 1.

    Examples
    --------
    >>> import pandas
    >>> list(frame_rows(pandas.DataFrame({"stars": [5, 1], "review": ["A joy.", "A bore."]})))
    [(0, ['stars', 'review']), (1, ['5', 'A joy.']), (2, ['1', 'A bore.'])]
    """
    names = column_names(frame) if columns is None else list(columns)
    yield 0, names
    found = [column(frame, name) for name in names]
    for number, cells in enumerate(zip(*found), 1):
        yield number, list(map(cell_text, cells))


def text_column(frame: Any, name: str | None) -> str:
    """The column that holds the text: the one that is named, the only one, or ``text``.

    Examples
    --------
    >>> import pandas
    >>> text_column(pandas.Series(["A joy."], name="review"), None)
    'text'
    """
    known = column_names(frame)
    if is_series(frame):
        return _SERIES
    return name if name is not None else known[0] if len(known) == 1 else _SERIES


def series_list(data: Any) -> Any:
    """A column as a list; anything else as it is.

    Examples
    --------
    >>> import pandas
    >>> series_list(pandas.Series(["a", "b"])), series_list(("a",))
    (['a', 'b'], ('a',))
    """
    return column(data, _SERIES) if is_series(data) else data


def tagged_frame(frame: Any, label: str | None) -> tuple[list[list[str]], list[list[str]]]:
    """The sentences of a frame and their labels, from a column of lists of tokens and one of lists of labels.

    Parameters
    ----------
    frame
        A table whose column ``tokens`` (or ``words``) holds the tokens of each sentence.
    label
        The column of labels; by default the only other one that holds lists as long as those of the tokens.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"tokens": [["Ada", "slept"]], "ner_tags": [["B-PER", "O"]]})
    >>> tagged_frame(frame, None)
    ([['Ada', 'slept']], [['B-PER', 'O']])
    """
    known, words = column_names(frame), _token_column(frame)
    tokens = column(frame, words)
    if label is None:
        others = [name for name in known if name != words and _goes_with(tokens, column(frame, name))]
        if len(others) != 1:
            found = (
                f"{len(others)} columns could be labels ({', '.join(others)})"
                if others
                else "no column of labels"
            )
            remedy = (
                "name one in label" if others else f"one list of labels is needed for each list of {words}"
            )
            raise InputError(found, path=FRAME, remedy=remedy)
        label = others[0]
    labels = column(frame, label)
    for number, (sentence, own) in enumerate(zip(tokens, labels), 1):
        for what, given in ((words, sentence), (label, own)):
            if not isinstance(given, list) or None in given:
                raise InputError(
                    f"{what} must be a list of texts, not {shown(given)}", path=FRAME, line=number
                )
        if len(sentence) != len(own):
            raise InputError(f"{len(sentence)} tokens, but {len(own)} labels", path=FRAME, line=number)
    filled = [i for i, sentence in enumerate(tokens) if sentence]
    return _texts(tokens, filled), _texts(labels, filled)


def frame_tokens(frame: Any) -> list[list[str]]:
    """The sentences of a frame without labels: its column ``tokens`` or ``words``, or a series of lists.

    Examples
    --------
    >>> import pandas
    >>> frame_tokens(pandas.DataFrame({"tokens": [["Ada", "slept"]]}))
    [['Ada', 'slept']]
    """
    found = column(frame, _token_column(frame))
    for number, sentence in enumerate(found, 1):
        if not isinstance(sentence, list):
            raise InputError(
                f"tokens must be a list of texts, not {shown(sentence)}", path=FRAME, line=number
            )
    return _texts(found, range(len(found)))


def _token_column(frame: Any) -> str:
    known = column_names(frame)
    words = known[0] if is_series(frame) else next((one for one in ("tokens", "words") if one in known), None)
    if words is None:
        what = f"no column of tokens: the columns are {', '.join(map(repr, known))}"
        remedy = "call the column of lists of words tokens, or give a pair (sentences, labels)"
        raise InputError(what, path=FRAME, remedy=remedy)
    return words


def _goes_with(tokens: Iterable[Any], cells: Iterable[Any]) -> bool:
    return all(
        isinstance(b, list) and isinstance(a, list) and len(a) == len(b) for a, b in zip(tokens, cells)
    )


def _texts(cells: Sequence[list[Any]], places: Sequence[int]) -> list[list[str]]:
    return [[cell_text(cell) for cell in cells[i]] for i in places]
