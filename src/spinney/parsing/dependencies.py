"""From constituents to dependencies: a word depends on the head of the smallest phrase that it is not the head of."""

from __future__ import annotations

from collections.abc import Sequence

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.errors import InputError
from spinney.parsing.cleaning import clean_tree, plain_label
from spinney.parsing.headrules import COLLINS, HeadRules

_NOMINAL = frozenset({"NP", "NX", "NAC", "NML", "WHNP"})
_CLAUSE = frozenset({"S", "SINV", "SQ", "SBARQ"})
_MODIFYING = frozenset({"ADJP", "ADVP", "QP", "WHADJP", "WHADVP"})
_SUBJECTS = frozenset({"NP", "SBAR", "EX"})
_DETERMINERS = frozenset({"DT", "PDT", "WDT", "PRP$", "WP$"})
_AUXILIARIES = frozenset({"MD", "TO"})
# Function tags that say what kind of text or phrase it is, rather than what it does in the phrase above.
_NO_RELATION = frozenset({"NOM", "TTL", "HLN", "UNF", "IMP", "SEZ", "ETC"})
_FIRST = frozenset(
    {"SBJ", "PRD", "LGS", "DTV", "PUT", "BNF", "VOC"}
)  # before tags of place, time, manner and so on


def to_dependencies(tree: Tree, rules: HeadRules = COLLINS) -> Sentence:
    """The dependency tree of a phrase structure tree: forms, tags (XPOS), heads and relations.

    Each child of a phrase that is not its head depends, by its own head word, on the head word of the phrase. The
    tree is projective and has one root. Traces are not words; function tags may have been kept or not.

    A relation is the function tag of the dependent phrase in lower case (``sbj``, ``prd``, ``tmp`` ...) if it has one;
    otherwise, in the manner of Penn2Malt (Nivre 2006), it depends on the labels of the phrase and of the dependent:

    ==============  ===============================================================================
    ``root``        the head of the sentence
    ``punct``       punctuation
    ``cc, conj``    a conjunction; what is joined to the head by one
    ``det, nmod``   in a noun phrase: determiners and possessive pronouns; the rest
    ``sbj``         in a clause: a noun phrase or clause before its verb phrase
    ``obj, vc``     in a verb phrase: a noun phrase after its verb; the verb phrase of an auxiliary
    ``aux, prt``    in a verb phrase or clause: ``to`` and modals, where they are not the head; particles
    ``vmod``        in a verb phrase or clause: the rest
    ``pmod``        in a prepositional phrase: what the preposition is about
    ``sub``         in a subordinate clause: what the subordinating word introduces
    ``amod``        in a phrase of adjectives, adverbs or numbers
    ``dep``         anywhere else
    ==============  ===============================================================================

    Parameters
    ----------
    tree
        A tree with a word at least.
    rules
        Finds the heads.

    Examples
    --------
    >>> tree = Tree.parse("( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ bites) (NP (PRP him)) (NP-TMP (NN today))) (. .)))")
    >>> print(to_dependencies(tree))
    1	the	_	_	DT	_	2	det	_	_
    2	dog	_	_	NN	_	3	sbj	_	_
    3	bites	_	_	VBZ	_	0	root	_	_
    4	him	_	_	PRP	_	3	obj	_	_
    5	today	_	_	NN	_	3	tmp	_	_
    6	.	_	_	.	_	3	punct	_	_
    """
    cleaned = clean_tree(tree, functions=True)
    if cleaned is None:
        raise InputError("a tree without words has no dependencies")
    nodes = list(cleaned.nodes())
    size = _sizes(nodes)
    head_words = rules.head_words(cleaned)
    words = [node for node in nodes if node.word is not None]
    heads = [0] * len(words)
    relations = ["root"] * len(words)
    for i, node in enumerate(nodes):
        below = []  # the places of the children among the nodes
        place = i + 1
        for _ in node.children:
            below.append(place)
            place += size[place]
        head = next((k for k, place in enumerate(below) if head_words[place] == head_words[i]), 0)
        for k, place in enumerate(below):
            if k != head:
                heads[head_words[place]] = head_words[i] + 1
                relations[head_words[place]] = _relation(node, k, head, rules)
    return Sentence(
        [str(node.word) for node in words],
        xpos=[plain_label(node.label) for node in words],
        heads=heads,
        deprels=relations,
    )


def _sizes(nodes: Sequence[Tree]) -> list[int]:
    """How many nodes each node is and has below it, for nodes with parents before children."""
    sizes = [1] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):
        place = i + 1
        for _ in nodes[i].children:
            sizes[i] += sizes[place]
            place += sizes[place]
    return sizes


def _relation(phrase: Tree, child: int, head: int, rules: HeadRules) -> str:
    """The relation of a child of a phrase to the child that is the head."""
    dependent = phrase.children[child]
    label = plain_label(dependent.label)
    if dependent.word is not None and label in rules.punctuation:
        return "punct"
    function = _function(dependent.label)
    if function:
        return function
    siblings = [plain_label(sibling.label) for sibling in phrase.children]
    if label in rules.conjunctions:
        return "cc"
    if not rules.conjunctions.isdisjoint(siblings[head + 1 : child]):
        return "conj"
    return _by_labels(plain_label(phrase.label), siblings[head], label, child < head)


def _function(label: str) -> str:
    """The function tag that names the relation, in lower case; none is an empty string."""
    if label.startswith("-"):
        return ""
    tags = [
        tag for tag in label.replace("=", "-").split("-")[1:] if tag.isalpha() and tag not in _NO_RELATION
    ]
    return next((tag for tag in tags if tag in _FIRST), tags[0] if tags else "").lower()


def _by_labels(phrase: str, head: str, label: str, before: bool) -> str:
    """The relation of a child to the head child by their labels and that of the phrase: the table above."""
    if phrase in _NOMINAL:
        return "det" if label in _DETERMINERS else "nmod"
    if phrase in _CLAUSE or phrase == "VP":
        if label in _AUXILIARIES:
            return "aux"
        if label == "PRT":
            return "prt"
        if phrase in _CLAUSE and before and head == "VP" and label in _SUBJECTS:
            return "sbj"
        if phrase == "VP" and not before and head.startswith(("VB", "MD", "TO")):
            return {"NP": "obj", "VP": "vc"}.get(label, "vmod")
        return "vmod"
    if phrase in ("PP", "WHPP"):
        return "pmod"
    if phrase == "SBAR":
        return "sub"
    return "amod" if phrase in _MODIFYING else "dep"
