"""Options that several verbs of ``spinney classify`` take."""

from __future__ import annotations

from typing import Annotated

import typer

Train = Annotated[
    str,
    typer.Argument(
        help="A folder of folders (one a class), a CSV, TSV or svmlight file, or bracketed trees (label: the root's)."
    ),
]
Data = Annotated[
    str,
    typer.Argument(
        help="Documents: a folder, a CSV, TSV or svmlight file, bracketed trees, or lines; - is standard input."
    ),
]
ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
Format = Annotated[str, typer.Option(help="auto, folder, csv, tsv, trees, svmlight or lines.")]
Text = Annotated[
    str, typer.Option(help="The column of the text (its name, or its number from 0 with --no-header).")
]
Label = Annotated[str, typer.Option(help="The column of the label.")]
Labels = Annotated[
    str | None,
    typer.Option(help="Other names of labels: 0=neg,1=neg,4=pos; with nothing after =, drop such documents."),
]
Header = Annotated[bool, typer.Option(help="Whether tables have a line of column names.")]
Features = Annotated[str, typer.Option(help="tfidf, counts or binary.")]
Tokens = Annotated[
    str | None,
    typer.Option(
        help="What a word is: words (two or more letters or digits), all (punctuation too), or spaces (tokenized "
        "already).  [default: spaces for trees, else words]"
    ),
]
Ngrams = Annotated[int, typer.Option(help="The longest n-gram of words.")]
MinCount = Annotated[int, typer.Option(help="Leave out words in fewer documents.")]
Lowercase = Annotated[bool, typer.Option(help="Whether to fold case.")]
StopWords = Annotated[str | None, typer.Option(help="english: leave out function words.")]
PenaltyName = Annotated[
    str | None,
    typer.Option(
        help="none, l1, l2, elasticnet, fused, group, sparse-group, group-linf, tree-l2, tree-linf, overlap, latent, "
        "trace, pairwise or nuclear.  [default: l1, with --groups overlap]"
    ),
]
L1 = Annotated[float | None, typer.Option(help="The ℓ1 part of group penalties.  [default: 0]")]
L2 = Annotated[
    float | None, typer.Option(help="The ridge part of elasticnet and group penalties.  [default: 0]")
]
GroupsSpec = Annotated[
    str | None,
    typer.Option(
        "--groups",
        help="Groups of words, several with commas: sentence, document, parse, brown[:CLUSTERS or FILE], lda[:TOPICS], "
        "tomotopy[:TOPICS], moments[:TOPICS], topics:FILE, neighbours:VECTORS, or a JSON file.",
    ),
]
GroupWeights = Annotated[
    str | None,
    typer.Option(help="sqrt (of its size) or unit: how much a group counts.  [default: sqrt]"),
]
Strengths = Annotated[str | None, typer.Option(help="Factors of families of groups: sentence=1,brown=0.5.")]
Neighbours = Annotated[
    int | None,
    typer.Option(min=1, help="How many words a group of neighbours has beside its own.  [default: 10]"),
]
Keep = Annotated[
    str | None, typer.Option(help="Of the groups parse, constituents with these labels only: NP,VP.")
]
Parses = Annotated[
    str | None,
    typer.Option(help="Bracketed trees of the training text, one a sentence, for the groups parse."),
]
ParserFile = Annotated[
    str | None,
    typer.Option(
        "--parser", help="A model of parse fit that gives the training text its trees, for the groups parse."
    ),
]
ClassTreeSpec = Annotated[
    str | None,
    typer.Option(
        "--tree",
        help="Go down a tree of classes, a small classifier a node: spec, canonical, diff, obyo, hung, conf or rand "
        "(learnt from the documents), huffman, balanced, or a file: a tree (Newick, JSON or a ClassTree), or "
        "word classes that have the labels as words (a model of classes fit, or Brown paths).",
    ),
]
SolverName = Annotated[str, typer.Option(help="auto, cd, lbfgs, owlqn, fista, admm, irls, newton, …")]
Rho = Annotated[
    float | None,
    typer.Option(help="Of admm: the pull of weights to their copies.  [default: follows the residuals]"),
]
Tol = Annotated[float, typer.Option(help="Largest violation of optimality at which a fit counts as done.")]
MaxIter = Annotated[int, typer.Option(help="Iterations at most.")]
Regression = Annotated[bool, typer.Option("--regression", help="Labels are numbers: fit a regressor.")]
