"""What a request can do wrong, and how that is said: a status, one line, and the field that it is about."""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """A request that is not answered.

    Examples
    --------
    >>> Refused(422, "must be text, not 3", field="text").told()
    {'error': 'must be text, not 3', 'field': 'text'}
    """

    def __init__(
        self, status: int, message: str, *, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field
        self.headers = dict(headers or {})

    def told(self) -> dict[str, str]:
        """The answer, as JSON has it."""
        return {"error": self.message} | ({"field": self.field} if self.field else {})
