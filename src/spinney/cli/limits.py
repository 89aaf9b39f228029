"""Limits on memory that a shell or a batch system has set, told in words before a library aborts at them."""

from __future__ import annotations

import errno

from spinney.errors import InputError

#: Address space that the libraries and their threads take: with two processors, 600 MB aborted and 800 MB did not.
_LEAST = 1 << 30


def check_address_space() -> None:
    """Refuse to begin where the compiler and the linear algebra would abort for want of address space."""
    try:
        import resource
    except ImportError:  # not a system with such limits
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST:
        raise InputError(
            f"a limit of {limit / 1e6:,.0f} MB on the memory of a program is too low to load Spinney's libraries",
            remedy=f"ulimit -v {_LEAST // 1024} or more",
        )


def out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is the want of memory: a library that could not be mapped, or a thread."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        text = str(error).lower()
        if (
            "failed to map segment" in text
            or "cannot allocate memory" in text
            or "can't start new thread" in text
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
