"""Parse trees of raw text, for other tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from spinney.corpus.brackets import Tree
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.headrules import COLLINS, HeadRules
from spinney.parsing.ptb import treebank_words

if TYPE_CHECKING:
    from spinney.corpus.conllu import Sentence
    from spinney.corpus.dependencies import DependencyParser
    from spinney.corpus.lines import ReadReport
    from spinney.parsing.parser import Parser

#: Longer sentences get a flat tree: time grows with the cube of the length.
LONGEST = 80
_BATCH = 200  # sentences per batch


def known_words(parser: Parser) -> frozenset[str]:
    """The words of the treebank."""
    lexicon = parser.rules_.lexicon
    return frozenset(lexicon.rows[: lexicon.n_words])


def trees_of(parser: Parser, sentences: Iterable[Sequence[str]], *, longest: int = LONGEST) -> Iterator[Tree]:
    """The trees of sentences, over their words as they are; empty sentences are dropped.

    Parameters
    ----------
    parser
        A fitted parser.
    sentences
        Sentences as tokens of any text. For the parser, quotes, brackets and dashes are converted to those of the
        Penn Treebank, unless its treebank contains them unchanged.
    longest
        Longer sentences get a flat tree.

    Examples
    --------
    >>> from spinney.corpus.brackets import Tree
    >>> from spinney.parsing import Parser
    >>> parser = Parser("pcfg").fit([Tree.parse("(S (NP (N dogs)) (VP (V bark)))")])
    >>> print(*trees_of(parser, [["dogs", "bark"]]))
    (S (NP (N dogs)) (VP (V bark)))
    """
    known = known_words(parser)
    sentences = filter(None, sentences)
    while some := list(islice(sentences, _BATCH)):
        trees = parser.parse([treebank_words(words, known) for words in some], longest=longest)
        for words, tree in zip(some, trees):
            leaves = (node for node in tree.nodes() if node.word is not None)
            for leaf, word in zip(leaves, words):
                leaf.word = word
            yield tree


def dependency_parser(
    parser: Parser, rules: HeadRules = COLLINS, *, longest: int = LONGEST
) -> DependencyParser:
    """A function that gives sentences dependency trees, as :func:`spinney.corpus.read_text` takes them.

    Parameters
    ----------
    parser
        A fitted parser; its trees become dependencies by ``rules``. Tags (``xpos``) are those of the treebank; there
        are no lemmas.
    rules
        Which child is the head of a phrase.
    longest
        In longer sentences all words depend on one word, the head of a flat tree.

    Examples
    --------
    >>> from spinney.corpus import ReadReport
    >>> from spinney.corpus.brackets import Tree
    >>> from spinney.parsing import Parser
    >>> parser = Parser("pcfg").fit([Tree.parse("(S (NP (N dogs)) (VP (V bark)))")])
    >>> [sentence] = dependency_parser(parser)(iter([["dogs", "bark"]]), ReadReport())
    >>> sentence.forms, sentence.xpos, sentence.heads
    (['dogs', 'bark'], ['N', 'V'], [2, 0])
    """

    def parsed(sentences: Iterator[Sequence[str]], report: ReadReport) -> Iterator[Sentence]:
        for tree in trees_of(parser, sentences, longest=longest):
            sentence = to_dependencies(tree, rules)
            report.flat += len(sentence) > longest
            yield sentence

    return parsed
