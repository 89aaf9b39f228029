"""The ``spinney`` command: ``spinney TASK VERB``.

Exit codes: 0 done, 1 a failure of ours, 2 the user's input or options, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import click
import typer

import spinney
from spinney.cli.tasks import TASKS as DECLARED
from spinney.cli.verbs import Command
from spinney.errors import OptionError, SettingError, SpinneyError, did_you_mean

# Typer brings its own copy of click in some versions and uses the installed one in others.
UsageError: Any = typer.BadParameter.__bases__[0]

#: Each is a module of this package: with an ``app`` of verbs, or with a function of its own name.
TASKS = ("classes", "classify", "embed", "lm", "parse", "tag", "trend")
COMMANDS = ("completion", "demo", "doctor", "report")


def application(*names: str) -> typer.Typer:
    """The command line with these tasks and commands, or with all.

    Examples
    --------
    >>> [group.name for group in application("tag", "lm").registered_groups]
    ['tag', 'lm']
    """
    app = typer.Typer(
        name="spinney",
        help="Small, sparse, readable models of text.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names or (*TASKS, *COMMANDS):
        if name in DECLARED:
            continue
        module = import_module(f"spinney.cli.{name}")
        if name in TASKS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name=name)(getattr(module, name))
    app.callback()(_root)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"spinney {spinney.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Small, sparse, readable models of text."""


def main() -> None:
    """Run the command line and turn every end into its exit code."""
    if "_SPINNEY_COMPLETE" in os.environ:
        from spinney.cli.completion import answer

        answer(sys.argv[1:])
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and not (stream.encoding or "").lower().startswith("utf"):
            stream.reconfigure(errors="replace")  # a terminal without λ shows ? for it
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    try:
        code = _command_for(arguments)(arguments, prog_name="spinney", standalone_mode=False)
        sys.stdout.flush()
    except SettingError as error:
        return _complain(error.message(lambda name: "--" + name.replace("_", "-")), 2)
    except SpinneyError as error:
        return _complain(str(error), 2)
    except click.UsageError as error:
        return _complain(error.format_message() + _hint(error), 2)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return 2
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        return _complain(_message(error) + hint, 2)
    except typer.Exit as end:
        return int(end.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except (BrokenPipeError, SystemExit):
        # The reader has gone (`spinney … | head`), which Typer tells by an exit: nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _complain("out of memory", 1)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):  # Numba's words
            raise
        return _complain(
            "no place to keep compiled kernels (NUMBA_CACHE_DIR=FOLDER, one that can be written)", 1
        )
    if (
        code == 130
    ):  # Typer's way of telling an interruption, and that of fits that have kept what they learnt
        return _complain("interrupted", 130)
    return code if isinstance(code, int) else 0


@cache
def command(*names: str) -> Any:
    """These tasks with their options, or all; to put all together takes longer than most of them run."""
    return typer.main.get_command(application(*names))


def _command_for(arguments: list[str]) -> Any:
    """The part of the command line that the arguments speak to; an error if they name what does not exist."""
    if not arguments or arguments[0].startswith("-"):
        return command()
    first = arguments[0]
    if first not in (*TASKS, *COMMANDS):
        known = (*TASKS, *COMMANDS)
        raise OptionError(f"no command {first!r}; there are {', '.join(known)}", given=first, known=known)
    if first in DECLARED:
        return _declared(first, arguments[1:])
    found = command(first)
    verbs = getattr(found.commands[first], "commands", None)
    if verbs and len(arguments) > 1 and not arguments[1].startswith("-") and arguments[1] not in verbs:
        what = f"{first} has no verb {arguments[1]!r}; it has {', '.join(verbs)}"
        raise OptionError(what, given=arguments[1], known=verbs)
    return found


class Group(click.Group):
    """A task, or the whole command."""

    def __init__(self, name: str, about: str, commands: Mapping[str, click.Command]) -> None:
        super().__init__(name, commands=dict(commands), help=about)
        self.context_settings = {"help_option_names": ["-h", "--help"]}

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help in a panel."""
        from spinney.cli.help import group_help

        rows = [(name, inner.help or "") for name, inner in self.commands.items()]
        formatter.write(group_help(ctx.command_path, self.help or "", {"Commands": rows}))


def _declared(task: str, words: list[str]) -> Any:
    """A task whose verbs declare their settings; the verb that the words name knows its method."""
    verbs = DECLARED[task].verbs
    if words and not words[0].startswith("-") and words[0] not in verbs:
        what = f"{task} has no verb {words[0]!r}; it has {', '.join(verbs)}"
        raise OptionError(what, given=words[0], known=verbs)
    commands = {
        name: Command(name, verb, words[1:] if words[:1] == [name] else ()) for name, verb in verbs.items()
    }
    return Group("spinney", "", {task: Group(task, DECLARED[task].help, commands)})


def _hint(error: click.UsageError) -> str:
    return f" (see {error.ctx.command_path} --help)" if error.ctx else ""


def _message(error: Any) -> str:
    """What is wrong with the options, with the option that is spelt most like an unknown one."""
    if not hasattr(error, "possibilities"):
        return str(error.format_message())
    known = [name for option in error.ctx.command.params for name in (*option.opts, *option.secondary_opts)]
    meant = did_you_mean(error.option_name, [name for name in known if name.startswith("--")])
    return f"no option {error.option_name}" + (f" ({meant})" if meant else "")


def _complain(line: str, code: int) -> int:
    print("spinney: " + " ".join(line.split()), file=sys.stderr)
    return code
