"""The ``spinney`` command: ``spinney TASK VERB``.

Exit codes: 0 done, 1 a failure of ours, 2 the user's input or options, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Annotated, Any

import typer

import spinney
from spinney.cli import classes, classify, demo, embed, lm, parse, report, tag, trend
from spinney.errors import SpinneyError

# Typer brings its own copy of click in some versions and uses the installed one in others.
UsageError: Any = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="spinney",
    help="Small, sparse, readable models of text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(classes.app, name="classes")
app.add_typer(classify.app, name="classify")
app.add_typer(embed.app, name="embed")
app.add_typer(lm.app, name="lm")
app.add_typer(parse.app, name="parse")
app.add_typer(tag.app, name="tag")
app.add_typer(trend.app, name="trend")
app.command(name="demo")(demo.demo)
app.command(name="report")(report.report)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"spinney {spinney.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Small, sparse, readable models of text."""


def main() -> None:
    """Run the command line and turn every end into its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    try:
        code = _command()(arguments, standalone_mode=False)
        sys.stdout.flush()
    except SpinneyError as error:
        return _complain(str(error), 2)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return 2
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        return _complain(error.format_message() + hint, 2)
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
    if (
        code == 130
    ):  # Typer's way of telling an interruption, and that of fits that have kept what they learnt
        return _complain("interrupted", 130)
    return code if isinstance(code, int) else 0


@cache
def _command() -> Any:
    """All commands with their options; to put them together takes longer than most of them run."""
    return typer.main.get_command(app)


def _complain(line: str, code: int) -> int:
    print("spinney: " + " ".join(line.split()), file=sys.stderr)
    return code
