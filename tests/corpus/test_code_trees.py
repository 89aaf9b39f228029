"""Trees of Python statements are those of Python's own parser."""

import ast
from collections import Counter

import pytest

from spinney.corpus.code_trees import code_trees, sample_trees

SOURCE = '''
def f(x, *rest):
    """No sentence."""
    a, b = x[1:n], [y.z for y in rest if y]
    return -a ** 2 if not b else f"{a}"
    total += g(*rest, key=lambda u, v=1: (u, v)) and {1: None, **d}
    raise ValueError("one"
                     "two") from error
    assert x is not 1 <= y < 2, (yield x)
    del a[b], c . d
    x = yield from (i for i in j)
    print((a))
'''


def phrases(tree):
    return Counter(node.label for node in tree.nodes() if node.word is None)


def test_labels_and_tokens_are_those_of_ast():
    trees = list(code_trees(SOURCE))
    wanted = [
        node
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)
    ]
    wanted = [node for node in wanted if not isinstance(getattr(node, "value", None), ast.Constant)]
    wanted = [node for node in wanted if not any(isinstance(one, ast.JoinedStr) for one in ast.walk(node))]
    assert len(trees) == len(wanted) == 7
    for tree, node in zip(trees, wanted):
        assert phrases(tree) == Counter(
            type(one).__name__ for one in ast.walk(node) if hasattr(one, "lineno")
        )
        text = " ".join(tree.leaves()).replace("-LRB-", "(").replace("-RRB-", ")")
        text = text.replace("'...' '...'", "'one' 'two'")
        assert ast.dump(ast.parse(text).body[0]) == ast.dump(node)


def test_text_of_a_statement_gives_its_tree_again():
    for tree in sample_trees(["textwrap", "calendar"]):
        text = " ".join(tree.leaves()).replace("-LRB-", "(").replace("-RRB-", ")")
        assert list(code_trees(text))[:1] == [tree]


def test_what_is_passed_over():
    assert list(code_trees("x = 'é'")) == []
    assert list(code_trees("if x:\n    pass")) == []
    assert sample_trees(["no_such_module", "sys"]) == []
    lengths = [len(tree.leaves()) for tree in sample_trees(["textwrap"], shortest=5, longest=9)]
    assert (min(lengths), max(lengths)) == (5, 9)


@pytest.mark.parametrize("text", ["x = 1", "f(a)(b)[c].d"])
def test_tags_are_kinds_of_tokens(text):
    (tree,) = code_trees(text)
    assert set(tree.tags()) <= {"NAME", "OP", "NUMBER"}
