"""The options that the verbs of ``spinney tag`` share."""

from __future__ import annotations

from typing import Annotated

import typer

Train = Annotated[
    list[str], typer.Argument(help="Files of labelled sentences; the last column is the label.")
]
Data = Annotated[str, typer.Argument(help="Sentences; - is standard input.")]
ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
Format = Annotated[
    str,
    typer.Option(help="columns, conllu, crfsuite, lines, letters, nettalk, nettalk-stress or cmudict."),
]
Preset = Annotated[str | None, typer.Option(help="A built-in set of patterns: chunk, ner, pos or g2p.")]
Patterns = Annotated[str | None, typer.Option(help="A template file, as of Wapiti or CRF++.")]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=FILE: word classes (a model of classes fit, or a Brown paths file); may be repeated."
    ),
]
Vectors = Annotated[
    list[str] | None,
    typer.Option(help="NAME=FILE: word vectors (a model of classes fit, or word2vec text); may be repeated."),
]
Kind = Annotated[str, typer.Option(help="crf, memm or hmm.")]
PenaltyName = Annotated[
    str,
    typer.Option(
        help="l2, l1, elasticnet, none, group-pattern, group-symbol, group-label, group-class (words of a class of "
        "--classes stand or fall together) or tree."
    ),
]
Lam = Annotated[float, typer.Option(help="The strength λ (the loss is a sum over sentences).")]
L1 = Annotated[float, typer.Option(help="The ℓ1 part of group penalties.")]
L2 = Annotated[float, typer.Option(help="The ridge part of elasticnet (½·l2·‖w‖²) and of group penalties.")]
SolverName = Annotated[
    str,
    typer.Option(help="auto, lbfgs, owlqn, active-set, sgd, adagrad, sbcd, cd, fista, perceptron or pa."),
]
Option = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE for the solver, such as kappa2=1.2; may be repeated.")
]
Tol = Annotated[float, typer.Option(help="Largest violation of optimality at which a fit counts as done.")]
MaxIter = Annotated[int, typer.Option(min=1, help="Iterations at most.")]
Passes = Annotated[int, typer.Option(min=1, help="Passes of the stochastic solvers.")]
Labels = Annotated[
    str,
    typer.Option(
        "--weights",
        help="all: weights for every label; observed: for what was seen with a label in training.",
    ),
]
Start = Annotated[
    bool,
    typer.Option(
        "--start-label/--no-start-label",
        help="Whether the first token has bigram weights, from a start label.",
    ),
]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out observations made fewer times.")]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="The label _ is unknown, A|B is one of several: train on what is known."),
]
Scheme = Annotated[str | None, typer.Option(help="iob1, iob2 or bioes: give valid label sequences only.")]
Encode = Annotated[
    str | None,
    typer.Option(help="iob1, iob2 or bioes: learn phrase labels in this scheme; they come back as written."),
]
DocStart = Annotated[str, typer.Option(help="-DOCSTART- lines: drop or keep.")]
