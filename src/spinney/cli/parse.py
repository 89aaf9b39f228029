"""``spinney parse``: trees of sentences."""

from __future__ import annotations

import typer

from spinney.cli import parse_apply, parse_eval, parse_fit, parse_inspect

app = typer.Typer(
    help="Parsers: grammars with latent states (EM, split and merge, spectral), and head automata.",
    no_args_is_help=True,
)

app.command()(parse_fit.fit)
app.command()(parse_apply.apply)
app.command()(parse_eval.eval)
app.command()(parse_inspect.inspect)
