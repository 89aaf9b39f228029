"""The ``spinney`` command: ``spinney TASK VERB``.

Exit codes: 0 success, 1 an internal failure, 2 an error in the input or the options, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

import spinney
from spinney import interrupts
from spinney.cli import limits, streams
from spinney.cli.tasks import COMMANDS, TASKS, Task
from spinney.cli.verbs import INTERRUPTED, Command, Verb, as_flags
from spinney.errors import OptionError, SettingError, SpinneyError, one_line


def main() -> None:
    """Run the command line, and exit with its code."""
    if "_SPINNEY_COMPLETE" in os.environ:
        from spinney.cli.completion import answer

        answer(sys.argv[1:])
        return
    streams.prepare()
    interrupts.listen()
    code = run(sys.argv[1:])
    interrupts.ignore()  # Python takes a while to end where a model is large
    _end(code)


def _end(code: int) -> NoReturn:
    """Exit; at once where nothing is left to wait for, since taking compiled code apart takes a tenth of a second."""
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()  # temporary files, shared memory, logs
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # what could not be written has been told
            stream.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    interrupts.forget()
    try:
        code = command(arguments)(arguments, prog_name="spinney", standalone_mode=False)
        streams.flush()
    except SettingError as error:
        return _complain(error.message(lambda name: "--" + name.replace("_", "-")), 2)
    except SpinneyError as error:
        return _complain(as_flags(str(error)), 2)
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        return _complain(error.format_message() + hint, 2)
    except (KeyboardInterrupt, click.Abort):
        return _interrupted()
    except (BrokenPipeError, SystemExit):
        # The reader has closed the pipe (`spinney … | head`), which is not an error.
        streams.abandon()
        return 0
    except Exception as error:
        if interrupts.caused(error):
            return _interrupted()
        if limits.out_of_memory(error):
            return _complain("out of memory", 1)
        if streams.of_output(error):
            return _complain(str(streams.unwritable(error)), 2)
        raise
    if code == INTERRUPTED:  # a fit that has saved what it learned
        return _interrupted()
    return code if isinstance(code, int) else 0


def _interrupted() -> int:
    code = interrupts.exit_code()
    # If the interrupt came within an `eval` (every namedtuple has one), Python would end by the signal, whatever code
    # it is told, unless another one has run since.
    eval("None")
    return _complain("interrupted" if code == INTERRUPTED else "terminated", code)


def _complain(line: str, code: int) -> int:
    with suppress(OSError):  # a full disk, or a closed pipe: the code is all that can be told
        print("spinney: " + one_line(" ".join(line.split())), file=sys.stderr, flush=True)
    return code


# ----------------------------------------------------------------------------------------- the commands


class Group(click.Group):
    """A task, or the whole command."""

    def __init__(self, name: str, about: str, commands: Mapping[str, click.Command]) -> None:
        super().__init__(name, commands=dict(commands), help=about, no_args_is_help=False)
        self.context_settings = {"help_option_names": ["-h", "--help"]}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a command, show help."""
        if not args:
            print(self.get_help(ctx))
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """An unknown command is an error that suggests the one that was probably meant."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            names = ", ".join(self.commands)
            what = f"no command {args[0]!r}; there are {names}"
            if ctx.parent is not None:
                what = f"{self.name} has no verb {args[0]!r}; it has {names}"
            raise OptionError(what, given=args[0], known=self.commands)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Help in panels: tasks, and other commands."""
        from spinney.cli.help import group_help

        tasks = [
            (name, inner.help or "") for name, inner in self.commands.items() if isinstance(inner, Group)
        ]
        verbs = [
            (name, inner.help or "") for name, inner in self.commands.items() if not isinstance(inner, Group)
        ]
        panels = {"Tasks": tasks, "Commands": verbs}
        formatter.write(group_help(ctx.command_path, self.help or "", panels))


def command(words: Sequence[str] | None = None) -> Group:
    """The whole command line; the verb that the words name has the options of its method.

    The other verbs then have no options, and other tasks no verbs, since building all of them takes longer than most
    commands run. Without words, every verb has the options of all its methods.

    Examples
    --------
    >>> list(command(["lm", "fit", "--method", "kn"]).commands["lm"].commands)[:2]
    ['fit', 'apply']
    """
    tasks = {name: _task(name, task, _after(words, name)) for name, task in TASKS.items()}
    verbs = {name: _verb(name, verb, _after(words, name)) for name, verb in COMMANDS.items()}
    root = Group("spinney", "Small, sparse, readable models of text.", {**tasks, **verbs})
    about = "Print the version and exit."
    root.params.append(
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help=about
        )
    )
    return root


def _task(name: str, task: Task, words: Sequence[str] | None) -> Group:
    verbs = {} if words is _OTHER else task.verbs
    return Group(
        name, task.help, {verb: _verb(verb, one, _after(words, verb)) for verb, one in verbs.items()}
    )


def _verb(name: str, verb: Verb, words: Sequence[str] | None) -> click.Command:
    return click.Command(name, help=verb.help) if words is _OTHER else Command(name, verb, words)


_OTHER: Sequence[str] = ("",)  # the words after a command that was not given


def _after(words: Sequence[str] | None, name: str) -> Sequence[str] | None:
    if words is None:
        return None
    return words[1:] if list(words[:1]) == [name] else _OTHER


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(f"spinney {spinney.__version__}")
        ctx.exit()
