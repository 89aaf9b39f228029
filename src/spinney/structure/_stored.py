"""What the four types share: their place in model files, arrays that do not change, an index of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney.errors import OptionError
from spinney.files import ModelFile, Parts
from spinney.model import Contents, Model, Structures
from spinney.settings import Settings
from spinney.views import Facts, Views


class Stored(Model):
    """A structure that lives in a model file: its own, or as a part of a model that uses it."""

    #: What it is to the models that use it: ``classes``, ``vectors``, ``groups`` or ``tree``.
    role: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = f"structure/{cls.__name__}"

    def parts(self) -> Parts:
        """Header, tensors and strings, for :func:`spinney.files.write_model`."""
        raise NotImplementedError

    @classmethod
    def _rebuilt(cls, model: ModelFile) -> Self:
        raise NotImplementedError

    @classmethod
    def from_parts(cls, model: ModelFile) -> Self:
        """The structure that ``parts`` described, out of :meth:`spinney.files.ModelFile.part`."""
        with model.checked():
            return cls._rebuilt(model)

    def contents(self) -> Contents:
        """What it keeps in a file of its own."""
        return Contents(*self.parts())

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The structure that a file of its own holds; arrays are mapped, not copied."""
        return cls.from_parts(file)

    def structures(self) -> Structures:
        """What it gives to models: itself."""
        return Structures(**{self.role: lambda: self})

    def summary(self) -> Views:
        """What a command that makes one prints."""
        return Views([Facts("facts", "", self.facts)])

    def _no_data(self, data: Any) -> None:
        if data is not None:
            raise OptionError(f"the page of {type(self).__name__} cannot show a text")

    def views(self, settings: Settings | None = None) -> Views:
        """What a person sees of it: what its page shows."""
        return Views(self.report_views(None, settings))

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: it never changes, and scikit-learn copies the parameters of an estimator for each fit."""
        return self


def frozen(values: Any, dtype: DTypeLike, what: str) -> NDArray[Any]:
    """``values`` as a read-only flat array of that dtype; a copy, unless nobody can write to them."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise OptionError(f"{what}: a flat list is needed, not {array.ndim} dimensions")
    dtype = np.dtype(dtype)
    if dtype.kind == "i" and array.size:
        limits = np.iinfo(dtype)
        if array.dtype.kind not in "iu" or array.min() < limits.min or array.max() > limits.max:
            raise OptionError(f"{what}: whole numbers up to {limits.max} are needed")
    try:
        writeable = isinstance(values, np.ndarray) and values.flags.writeable
        result = np.array(array, dtype=dtype, order="C", copy=True if writeable else None)
    except (TypeError, ValueError):
        raise OptionError(f"{what}: numbers are needed") from None
    result.flags.writeable = False
    return result


class Words:
    """A list of distinct words and the place of each.

    With ``lowercase`` a word that is not in the list is looked for in lower case.
    """

    def __init__(self, words: Iterable[str], what: str = "word", lowercase: bool = False) -> None:
        self.list = list(words)
        self.lowercase = lowercase
        self._place = {word: i for i, word in enumerate(self.list)}
        if len(self._place) < len(self.list):
            twice = next(word for i, word in enumerate(self.list) if self._place[word] != i)
            raise OptionError(f"the {what} {twice!r} appears twice")

    def find(self, word: object) -> int | None:
        """The index of a word, None if it is not in the list."""
        place = self._place.get(word)  # type: ignore[call-overload]
        if place is None and self.lowercase and isinstance(word, str):
            place = self._place.get(word.lower())
        return place  # type: ignore[no-any-return]

    def encode(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """The index of each token, -1 where it is not in the list."""
        if not self.lowercase:
            place = self._place
            return np.fromiter((place.get(token, -1) for token in tokens), np.int32, len(tokens))
        found = (self.find(token) for token in tokens)
        return np.fromiter((-1 if i is None else i for i in found), np.int32, len(tokens))


class OfWords(Stored):
    """A structure that says something of each of its words."""

    _words: Words

    @property
    def words(self) -> list[str]:
        """The words, in the order of what is known of them."""
        return self._words.list

    @property
    def lowercase(self) -> bool:
        """Whether a word that is not known is looked up in lower case."""
        return self._words.lowercase

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return self._words.find(word) is not None
