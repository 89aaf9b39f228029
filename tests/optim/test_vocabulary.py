"""One vocabulary of penalties: names, what they need, and the way to a file and back."""

import json

import numpy as np
import pytest

from spinney.errors import OptionError
from spinney.optim import (
    L1,
    PENALTIES,
    ElasticNet,
    FlatGroups,
    Fused,
    GroupL2,
    NonNegative,
    Penalty,
    PenaltySpec,
    Structure,
    Tree,
    check_penalty,
    penalty,
)
from spinney.optim.penalties.partial import Partial
from spinney.optim.vocabulary import NEEDS
from spinney.structure import Groups

X = np.random.default_rng(0).standard_normal((12, 6))
EVERYTHING = Structure(
    groups=Groups.from_lists([[0, 1], [2, 3, 4]], n_features=6),
    tree=lambda: Tree([-1, 0, 0, 1, 1, -1]),
    output_tree=lambda: Tree([-1], [0]),
    design=X,
    n_features=6,
    ordered=True,
    n_times=3,
)


@pytest.mark.parametrize("name", PENALTIES)
def test_every_name_makes_a_penalty_that_knows_its_name(name):
    made = penalty(name, EVERYTHING, lam=0.3, l1=0.1, l2=0.2)
    w, grad = X[0].copy(), X[1]
    assert np.isfinite(made.value(w))
    assert made.violation(w, grad) >= 0
    spec = made.spec()
    assert spec.name == {"sparse-group": "group"}.get(name, name)
    assert spec.lam == (0.0 if name == "none" else 0.3)
    kind = PENALTIES[name]
    assert kind.help
    assert kind.needs in (None, *NEEDS)
    again = PenaltySpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    if kind.needs in (None, "order"):
        assert penalty(again, EVERYTHING).value(X[0]) == made.value(X[0])
    else:
        with pytest.raises(OptionError, match="which are not stored: give it again"):
            penalty(again, EVERYTHING)


@pytest.mark.parametrize("name", [name for name, kind in PENALTIES.items() if kind.needs])
def test_what_a_task_cannot_offer_is_one_sentence(name):
    with pytest.raises(OptionError, match=f"the penalty {name} needs .*, which a stone does not have"):
        penalty(name, Structure("a stone"))
    with pytest.raises(OptionError, match=r"needs .*: ask a mason"):
        penalty(name, Structure(remedies={PENALTIES[name].needs: "ask a mason"}))


def test_names_that_are_none():
    with pytest.raises(OptionError, match="there is no penalty 'lasso'"):
        penalty("lasso")
    with pytest.raises(OptionError, match="did you mean elasticnet"):
        check_penalty("elastic", ())
    with pytest.raises(OptionError, match="no grouping 'colour'"):
        penalty("group:colour", EVERYTHING)
    with pytest.raises(OptionError, match="no grouping 'colour'"):
        penalty("l1:colour", EVERYTHING)


def test_groupings_are_structures_of_any_group_penalty():
    made = []
    groups = FlatGroups.of([[0, 1, 2], [3, 4, 5]], n_features=6)
    at = Structure("a model", groupings={"halves": lambda: made.append(1) or groups})
    for name in ("group", "sparse-group", "group-linf", "overlap", "latent"):
        assert "2 groups" in penalty(f"{name}:halves", at).describe()
    assert len(made) == 5
    with pytest.raises(OptionError, match="needs a grouping: group:halves"):
        penalty("group", at)
    assert len(made) == 5  # nothing was made in vain


def test_objects_describe_themselves():
    assert penalty(L1(0.3)).lam == 0.3
    assert NonNegative(ElasticNet(0.3, l2=0.1)).spec() == PenaltySpec(
        "elasticnet", 0.3, l2=0.1, nonnegative=True
    )
    assert isinstance(penalty(PenaltySpec("l1", 0.3, nonnegative=True)), NonNegative)
    assert Partial(L1(0.5), 2).spec() == PenaltySpec("l1", 0.5)
    assert L1(0.5, weights=np.ones(3)).spec().own == "weights"
    assert Fused(0.5, chains=[0, 2]).spec().own == "chains"
    assert GroupL2(0.5, FlatGroups.of([[0]], 2), l1=0.1).spec() == PenaltySpec(
        "group", 0.5, 0.1, own="groups"
    )

    class Mine(Penalty):
        lam = 2.0

    assert Mine().spec() == PenaltySpec("Mine", 2.0)
    with pytest.raises(OptionError, match="there is no penalty 'Mine'"):
        penalty(Mine().spec())


@pytest.mark.parametrize(
    "stored", [{}, {"name": 3}, {"name": "l1", "lam": "much"}, {"name": "l1", "colour": 1.0},
               {"name": "l1", "more": {"a": "b"}}, {"name": "l1", "more": [1]}]
)  # fmt: skip
def test_what_is_no_description(stored):
    with pytest.raises(OptionError, match="does not describe a penalty"):
        PenaltySpec.from_json(stored)


def test_feature_weights():
    weights = np.arange(3.0)
    at = Structure(weights=weights, n_outputs=2)
    w = np.array([1.0, -1.0, 1.0, 1.0, 2.0, 0.0])
    assert penalty("l1", at, lam=0.5).value(w) == 0.5 * (2 + 2 * 2)
    assert penalty("l2", at, lam=0.5).value(w) == 0.25 * (2 + 2 * 4)
    with pytest.raises(OptionError, match="feature weights"):
        penalty("l0", at)
