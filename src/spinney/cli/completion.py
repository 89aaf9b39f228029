"""``spinney completion``: a script with which the shell completes tasks, verbs, options and their values.

The script asks the program itself: ``_SPINNEY_COMPLETE=1 spinney WORD …`` prints the completions of the last word,
which may be empty: one per line, with its help after a tab. If nothing is printed, the shell completes file names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from spinney.cli.running import print_json
from spinney.cli.tasks import COMMANDS, TASKS
from spinney.cli.verbs import CONFIG, JSON, QUIET, Call, Command, Verb, names_of
from spinney.errors import OptionError, SpinneyError

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


def completion(call: Call) -> int:
    """Print the script for a shell."""
    name = call.arguments["shell"] or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SCRIPTS:
        raise OptionError(f"name the shell: {', '.join(SCRIPTS)}")
    script = SCRIPTS[name].strip()
    if call.json:
        print_json({"shell": name, "script": script})
    else:
        print(script)
    return 0


def answer(words: Sequence[str]) -> None:
    """Print the completions of the last word of an unfinished command."""
    for value, text in candidates(words):
        print(f"{value}\t{text}" if text else value)


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The completions of the last of these words, each with a short explanation.

    Examples
    --------
    >>> [value for value, _ in candidates(["lm", "fit", "train.txt", "--method", "kn"])]
    ['kn', 'kn-backoff']
    """
    # Bash splits --option=value into three words.
    *before, begun = [word for word in words if word != "="] + [""] * (not words or words[-1] == "=")
    option, equals, value = begun.partition("=")
    if equals and option.startswith("--"):  # other shells do not split it
        return ((f"{option}={one}", text) for one, text in candidates([*before, option, value]))
    return ((one, text) for one, text in _possible(before, begun) if one.startswith(begun))


def _possible(before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    if not before:
        yield from ((name, _first_sentence(task.help)) for name, task in TASKS.items())
        yield from ((name, _first_sentence(verb.help)) for name, verb in COMMANDS.items())
        yield from (("--help", ""), ("--version", ""))
        return
    first, *rest = before
    verb = COMMANDS.get(first)
    if first in TASKS:
        verbs = TASKS[first].verbs
        if not rest:
            yield from ((name, _first_sentence(one.help)) for name, one in verbs.items())
            return
        verb = verbs.get(rest.pop(0))
    if verb is not None:
        yield from _of_verb(verb, rest, begun)


def _of_verb(verb: Verb, before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    """Options (of the given method, if there is one), values of an option, or values of an argument."""
    try:
        settings = Command("", verb, before if "--method" in before else None).settings
    except SpinneyError:  # a method or a file that does not exist
        settings = verb.every_setting()
    options = [*verb.output, *settings]
    asked = next((s for s in options if before and before[-1] in names_of(s) and s.kind is not bool), None)
    if asked is not None:
        choices = (
            tuple(verb.settings)
            if asked.name == "method" and not isinstance(verb.settings, type)
            else asked.choices
        )
        yield from ((value, "") for value in choices)
    elif begun.startswith("-"):
        for setting in options:
            said = _first_sentence(setting.help)
            yield from ((name, said) for name in names_of(setting) if name.startswith("--"))
        yield from (("--config", CONFIG), ("--json", JSON), ("--quiet", QUIET), ("--help", ""))
    elif not (before and before[-1] == "--config"):
        yield from ((value, "") for argument in verb.arguments for value in argument.choices)


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")
