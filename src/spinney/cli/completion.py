"""``spinney completion``: a script for the shell, so that TAB completes tasks, verbs, options and their values.

The script asks the program itself: ``_SPINNEY_COMPLETE=1 spinney WORD …`` prints what the last word, perhaps an empty
one, could become, one candidate a line with its help after a tab. Nothing printed means the name of a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from spinney.cli.options import Json, Quiet, Seed, Threads, emit
from spinney.errors import OptionError, unknown_choice

_BASH: Final = r"""
_spinney_complete() {
    local IFS=$'\n' found
    found=$(_SPINNEY_COMPLETE=1 "${COMP_WORDS[0]}" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=($(printf '%s\n' "$found" | cut -f 1))
}
complete -o default -F _spinney_complete spinney
"""
_ZSH: Final = r"""
#compdef spinney
_spinney() {
    local line
    local -a found
    for line in "${(@f)$(_SPINNEY_COMPLETE=1 "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n "$line" ]] && found+=("${line/$'\t'/:}")
    done
    if (( $#found )); then _describe spinney found; else _files; fi
}
compdef _spinney spinney
"""
_FISH: Final = r"""
function __spinney_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found (_SPINNEY_COMPLETE=1 $before[1] $before[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command spinney --no-files --arguments '(__spinney_complete)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(
    shell: Annotated[
        str | None, typer.Argument(help="bash, zsh or fish (default: that of $SHELL).", show_default=False)
    ] = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print a script that teaches a shell to complete this command: eval "$(spinney completion bash)"."""
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell is None and name not in SCRIPTS:
        raise OptionError(f"say for which shell: {', '.join(SCRIPTS)}")
    if name not in SCRIPTS:
        raise unknown_choice("the shell is", name, SCRIPTS)
    script = SCRIPTS[name].strip()
    emit(as_json, {"shell": name, "script": script}, lambda: print(script))


def answer(words: Sequence[str]) -> None:
    """Print what the last word of an unfinished command could become."""
    for value, text in candidates(words):
        print(f"{value}\t{text}" if text else value)


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the last of these words could become, with a word of explanation.

    Examples
    --------
    >>> [value for value, _ in candidates(["tag", "fit", "train.txt", "--solver", "s"])]
    ['sgd', 'sbcd']
    """
    # Bash parts --option=value into three words.
    *before, begun = [word for word in words if word != "="] + [""] * (not words or words[-1] == "=")
    option, equals, value = begun.partition("=")
    if equals and option.startswith("--"):  # other shells do not
        return ((f"{option}={one}", text) for one, text in candidates([*before, option, value]))
    return ((one, text) for one, text in _possible(before, begun) if one.startswith(begun))


def _possible(before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    from spinney.cli.main import COMMANDS, TASKS, command

    known = (*TASKS, *COMMANDS)
    if not before:
        yield from ((name, "") for name in (*known, "--help", "--version"))
        return
    if before[0] not in known:
        return
    here = command(before[0]).commands[before[0]]
    rest = list(before[1:])
    if hasattr(here, "commands"):
        if not rest:
            yield from ((name, _first_sentence(verb.help)) for name, verb in here.commands.items())
            return
        if rest[0] not in here.commands:
            return
        here = here.commands[rest.pop(0)]
    options = [option for option in here.params if option.param_type_name == "option"]
    asked = _named(options, rest[-1]) if rest else None
    if asked is not None and not asked.is_flag:
        yield from ((value, "") for value in choices(asked.help))
    elif begun.startswith("-"):
        for option in options:
            yield from (
                (name, _first_sentence(option.help)) for name in _spellings(option) if name[:2] == "--"
            )
    elif here.name == "completion":
        yield from ((name, "") for name in SCRIPTS)


def _spellings(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def _named(options: Sequence[Any], name: str) -> Any:
    return next((option for option in options if name in _spellings(option)), None)


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].removesuffix(".")


_WORD: Final = r"[a-z0-9][\w+-]*"
_LISTED: Final = re.compile(
    rf"(?:^|: )((?:{_WORD}, )*{_WORD}(?:, or | or ){_WORD}|{_WORD}(?:, {_WORD})+(?=[.;]|, …|$))"
)


def choices(help_text: str | None) -> list[str]:
    """The values of an option, which its help names where they are few: "brown, exchange or hmm".

    Examples
    --------
    >>> choices("hmm: online (default) or batch EM.")
    ['online', 'batch']
    >>> choices("loglinear, hierarchical: words (default), fista, ista or sage.")
    ['words', 'fista', 'ista', 'sage']
    >>> choices("Seed of everything random.")
    []
    """
    plain = re.sub(r" ?\([^()]*\)|\[.*", "", help_text or "")
    listed = _LISTED.search(plain)
    return [word for word in re.split(r", or | or |, ", listed.group(1)) if word != "a"] if listed else []
