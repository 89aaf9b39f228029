"""Commands run in this process. A test module may name the task that its commands begin with: ``TASK = "tag"``."""

import json

import pytest

from spinney.cli.main import run


@pytest.fixture
def spinney(capsys, request):
    """Run a command in this process; gives the exit code, standard output and standard error."""
    task = getattr(request.module, "TASK", None)

    def call(*arguments):
        code = run([*([task] if task else []), *[str(argument) for argument in arguments]])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def facts(spinney):
    """Run a command that must end well, with --json; gives what it printed."""

    def call(*arguments):
        code, out, err = spinney(*arguments, "--json", "--quiet")
        assert code == 0, err
        return json.loads(out, parse_constant=_refuse_constant)

    return call


def _refuse_constant(text):
    raise AssertionError(f"{text} is not JSON")


@pytest.fixture
def refused(spinney):
    """Run a command that must end with one line on standard error; gives that line."""

    def call(*arguments):
        code, out, err = spinney(*arguments, "--quiet")
        assert code == 2, (out, err)
        assert out == ""
        assert err.startswith("spinney: ")
        assert err.count("\n") == 1
        return err

    return call
