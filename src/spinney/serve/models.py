"""The models of a server: loaded once, named by their files, and what each can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from spinney.errors import InputError, OptionError, SpinneyError
from spinney.escaping import json_line
from spinney.importing import imported
from spinney.kinds import PACKAGES, load
from spinney.model import Applied, Model
from spinney.serve.inputs import Given, checked, data_for, text_numbers
from spinney.serve.refusing import Refused
from spinney.serve.work import Deadline
from spinney.settings import Settings
from spinney.settings.classes import Neighbours as ClassNeighbours
from spinney.settings.embed import Neighbours
from spinney.views import View, as_json, finite

MOST = 64_000_000  # letters of an answer
_WORDS = ("the", "a")


@dataclass(frozen=True)
class Served:
    """A model under its name."""

    name: str
    model: Any

    @property
    def kind(self) -> str:
        """The task and class of the model."""
        return str(self.model.kind)

    @cached_property
    def task(self) -> str:
        """The task, as the command line calls it."""
        package = self.kind.partition("/")[0]
        return next((task for task, name in PACKAGES.items() if name == package), package)

    def settings(self, verb: str) -> type[Settings] | None:
        """The settings of ``Apply``, ``Inspect`` and so on, if the task has such a verb."""
        if verb == "Neighbours":
            return ClassNeighbours if self.task == "classes" else Neighbours
        with suppress(ImportError, AttributeError):
            found: type[Settings] = imported(f"spinney.settings.{self.task}:{verb}")
            return found
        return None

    @cached_property
    def can(self) -> list[str]:
        """What it can be asked: ``apply``, ``view``, ``explain``, ``inspect``, ``neighbours``."""
        verbs = ["apply", "view"] if _has(self.model, "apply") else []
        verbs += ["explain"] if _has(self.model, "explain") else []
        verbs += ["inspect"] if hasattr(self.model, "views") else []
        return verbs + (["neighbours"] if hasattr(self.model, "neighbours") else [])

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The settings of a request that has none: with probabilities, where the model has them."""
        settings = self.settings("Apply")
        if settings is None or "proba" not in settings.__dataclass_fields__:
            return {}
        try:
            self._warmed({"proba": True})
        except SpinneyError:  # a regressor, or a classifier without probabilities
            return {}
        return {"proba": True}

    def warm(self) -> None:
        """Apply the model once, so that no request waits for a compiler."""
        if "apply" in self.can and not self.defaults:
            with suppress(SpinneyError, Refused):
                self._warmed({})

    def _warmed(self, settings: Mapping[str, Any]) -> None:
        width = getattr(getattr(self.model, "extractor_", None), "required_columns", 1)
        tokens: list[Any] = [[word] * width if width > 1 else word for word in _WORDS]
        try:
            data = data_for(self.model, Given(tokens=[tokens]))
        except Refused as error:
            raise OptionError(error.message) from None
        list(self.model.apply(data, threads=1, **settings))

    # -- questions ------------------------------------------------------------------------------------

    def applied(self, one: Given, deadline: Deadline) -> tuple[Applied, Iterator[dict[str, Any]]]:
        """What ``apply`` gives, and its records as JSON has them.

        Where several texts were given to a model of sentences, each record has the number of its text, from 0.
        """
        self._need("apply")
        settings = self.settings("Apply")
        chosen = (
            self.defaults if one.settings is None or settings is None else checked(settings, one.settings)
        )
        data = data_for(self.model, one)
        deadline.check()
        found: Applied = self.model.apply(data, threads=1, **chosen)
        records: Iterator[dict[str, Any]] = map(finite, deadline.each(found))
        numbers = text_numbers(self.model, one)
        if numbers is not None:
            # The records come first: they must be read to their end, where the facts are.
            records = ({"text": number, **record} for record, number in zip(records, numbers))
        return found, records

    def answer(self, one: Given, deadline: Deadline) -> str:
        """The JSON of an answer: what ``apply --json`` prints."""
        found, records = self.applied(one, deadline)
        written = limited(map(json_line, records))
        facts = "".join(
            f", {json_line(str(key))}: {json_line(finite(value))}" for key, value in found.facts.items()
        )
        return f"{{{json_line(found.key)}: [{', '.join(written)}]{facts}}}"

    def explained(self, one: Given, deadline: Deadline) -> list[View]:
        """Why the model says what it says."""
        self._need("explain")
        deadline.check()
        views: list[View] = self.model.explain(data_for(self.model, one))
        return views

    def inspected(self, query: Mapping[str, str]) -> list[View]:
        """What ``inspect`` shows."""
        self._need("inspect")
        settings = self.settings("Inspect")
        if settings is None:
            checked(Settings, query)
            shown: list[View] = self.model.views()
        else:
            shown = self.model.views(**checked(settings, query, parse=True))
        return shown

    def neighbours(self, word: str, query: Mapping[str, str]) -> list[View]:
        """The words most similar to a word."""
        self._need("neighbours")
        if self.task == "classes":
            views: list[View] = self.model.neighbours(word, **checked(ClassNeighbours, query, parse=True))
            return views
        from spinney.embed.views import neighbours

        vectors = self.model if self.task == "structure" else self.model.vectors()
        return neighbours(vectors, [word], Neighbours.of(checked(Neighbours, query, parse=True)))

    def _need(self, verb: str) -> None:
        if verb not in self.can:
            can = ", ".join(self.can)
            raise Refused(
                404, f"{self.name} is a model of the kind {self.kind}, which cannot {verb}; it can {can}"
            )


def _has(model: Any, verb: str) -> bool:
    """Whether a kind of model has a verb of its own: what :class:`~spinney.model.Model` has only refuses."""
    found = getattr(type(model), verb, None)
    return callable(found) and found is not getattr(Model, verb, None)


def limited(pieces: Iterable[str]) -> list[str]:
    """All pieces of an answer; one that is too large is refused before it is whole.

    Examples
    --------
    >>> limited(["{}", "[]"])
    ['{}', '[]']
    """
    found, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MOST:
            raise Refused(413, f"the answer would have more than {MOST:,} letters: ask for less at a time")
        found.append(piece)
    return found


def views_json(views: Sequence[View]) -> str:
    """The JSON of views."""
    return limited([json_line(as_json(views))])[0]


def load_models(paths: Sequence[str], told: Callable[[str], None] = lambda name: None) -> dict[str, Served]:
    """The models of some files by the names of these, without their endings."""
    found: dict[str, Served] = {}
    files: dict[str, str] = {}
    for path in paths:
        name = Path(path).name.removesuffix(".spinney")
        if name in found:
            raise InputError(
                f"{files[name]} has the same name, {name}, which says which model a request means",
                path=path,
                remedy="rename one of the files",
            )
        if not name or not name.isprintable() or set(name) & set("/?#%"):
            raise InputError("the name of a model goes into addresses", path=path, remedy="rename the file")
        model = load(path)
        found[name], files[name] = Served(name, model), path
        told(name)
        found[name].warm()
    return found
