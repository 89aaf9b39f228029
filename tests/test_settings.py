"""Settings are declared once: what is checked, written, read again and offered comes from the declaration."""

import importlib
import math
import pkgutil
import tomllib
from dataclasses import FrozenInstanceError, dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

import spinney.settings as settings_package
from spinney.errors import SettingError
from spinney.settings import (
    DATA,
    PANELS,
    PENALTY,
    REQUIRED,
    Above,
    AtLeast,
    AtMost,
    Below,
    Common,
    File,
    OneOf,
    Repeated,
    Settings,
    choose,
    methods,
    settings_of,
    settings_or,
    takes,
    toml_lines,
)


@dataclass(frozen=True, kw_only=True)
class Data(Settings):
    panel = DATA
    format: Annotated[str, OneOf(["csv", "tsv"]), "Format."] = "csv"
    classes: Annotated[tuple[str, ...], Repeated, File, "Word classes."] = ()


@dataclass(frozen=True, kw_only=True)
class Ridge(Data, Common):
    panel = PENALTY
    method: Annotated[Literal["ridge"], "Method."] = "ridge"
    lam: Annotated[tuple[float, ...], AtLeast(0), "Strengths."] = (1.0,)
    share: Annotated[float | None, Above(0), Below(1), "A share."] = None
    order: Annotated[int | Literal["unbounded"], AtLeast(1), "Order."] = 5
    fast: Annotated[bool, "Fast."] = False

    def check(self):
        if self.fast and self.share is not None:
            raise SettingError("{fast} and {share} do not go together, not even {word}", word="{once}")


@dataclass(frozen=True, kw_only=True)
class Other(Common):
    method: Annotated[Literal["other", "more"], "Method."] = "other"
    sweeps: Annotated[int, AtLeast(1), "Sweeps."] = 3


FIT = methods(Ridge, Other)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"lam": -1}, "lam must be at least 0, not -1"),
        ({"lam": [1, math.nan]}, "lam must be a finite number, not nan"),
        ({"lam": "1"}, "lam must be a number (or several, separated by commas), not '1'"),
        ({"share": 1}, "share must be less than 1, not 1"),
        ({"share": 0}, "share must be greater than 0, not 0"),
        (
            {"order": "unbound"},
            "order must be unbounded or a whole number, not 'unbound' (did you mean unbounded?)",
        ),
        ({"order": 2.5}, "order must be unbounded or a whole number, not 2.5"),
        ({"order": True}, "order must be unbounded or a whole number, not True"),
        ({"fast": 1}, "fast must be true or false, not 1"),
        ({"format": "cvs"}, "format must be csv or tsv, not 'cvs' (did you mean csv?)"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"fast": True, "share": 0.5}, "fast and share do not go together, not even {once}"),
        ({"sweeps": 2}, "sweeps is a setting of the methods other and more, not of ridge"),
        ({"sweps": 2, "method": "more"}, "there is no setting sweps (did you mean sweeps?)"),
        ({"method": "rigde"}, "method must be one of ridge, other, more, not 'rigde' (did you mean ridge?)"),
    ],
)
def test_what_is_refused(given, error):
    with pytest.raises(SettingError) as caught:
        choose(FIT, given)
    assert str(caught.value) == error


def test_the_command_line_names_its_options():
    with pytest.raises(SettingError) as caught:
        Ridge(fast=True, share=0.5)
    assert caught.value.message(lambda name: f"--{name}").startswith("--fast and --share do not")


def test_values_are_kept_in_one_form():
    made = choose(FIT, {"lam": [1, 2], "order": 3, "classes": "a.txt"})
    assert (made.lam, made.order, made.classes, made.method) == ((1.0, 2.0), 3, ("a.txt",), "ridge")
    assert choose(FIT, {"method": "more"}).method == "more"
    assert made.replace(order="unbounded").order == "unbounded"
    with pytest.raises(FrozenInstanceError):
        made.order = 4


def test_panels_are_those_of_the_class_that_declares_a_field():
    panels = {setting.name: setting.panel for setting in settings_of(Ridge)}
    assert (panels["format"], panels["lam"], panels["seed"]) == ("Data", "Penalty", "Every command")
    assert [PANELS.index(setting.panel) for setting in settings_of(Ridge)] == sorted(
        PANELS.index(setting.panel) for setting in settings_of(Ridge)
    )


@given(
    lam=st.lists(st.floats(0, 1e300), min_size=1),
    share=st.none() | st.floats(0.001, 0.999),
    order=st.integers(1, 10**9) | st.just("unbounded"),
    seed=st.integers(0, 2**32 - 1),
    classes=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)),
)
def test_configuration_files_give_the_settings_back(lam, share, order, seed, classes):
    made = Ridge(lam=lam, share=share, order=order, seed=seed, classes=classes)
    text = "\n".join(toml_lines(made.as_dict(), Ridge))
    assert choose(FIT, tomllib.loads(text)) == made


@given(lam=st.lists(st.floats(0, 1e300), min_size=1), order=st.integers(1, 10**9))
def test_the_command_line_parses_what_it_prints(lam, order):
    of = {setting.name: setting for setting in settings_of(Ridge)}
    assert of["lam"].parse(",".join(map(repr, lam))) == tuple(lam)
    assert of["order"].parse(str(order)) == order
    assert of["order"].parse("unbounded") == "unbounded"


def test_estimators_take_settings():
    @takes(Ridge)
    class Estimator(BaseEstimator):
        pass

    made = Estimator(lam=2.0, random_state=4)
    assert set(made.get_params()) == {setting.name for setting in settings_of(Ridge)} - {"seed"} | {
        "random_state"
    }
    assert clone(made).get_params() == made.get_params()
    assert made.set_params(order=7).order == 7
    with pytest.raises(SettingError, match="no setting lamb"):
        Estimator(lamb=2.0)


def test_settings_or():
    assert settings_or(Ridge, None, {"order": 2}).order == 2
    assert settings_or(Ridge, Ridge(order=2), {}).order == 2
    for settings, given_too in ((Other(), {}), (Ridge(), {"order": 2})):
        with pytest.raises(TypeError, match="settings"):
            settings_or(Ridge, settings, given_too)


MODULES = [name for _, name, _ in pkgutil.iter_modules(settings_package.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_every_declared_setting_is_sound(name):
    """Defaults pass their own checks, help is a sentence, and the same name means the same thing within a task."""
    module = importlib.import_module(f"spinney.settings.{name}")
    for cls in vars(module).values():
        if not (isinstance(cls, type) and issubclass(cls, Settings)):
            continue
        for setting in settings_of(cls):
            where = f"{cls.__name__}.{setting.name}"
            assert not ("a" <= setting.help[0] <= "z"), where
            assert setting.help.rstrip().endswith((".", ")", "]")), where
            assert "--" not in setting.help, f"{where}: help speaks of settings, not of flags"
            if setting.default is not REQUIRED:
                assert setting.check(setting.default) == setting.default, where
            if setting.kind in (int, float):
                ends = {isinstance(bound, AtMost | Below) for bound in setting.bounds}
                assert ends == {True, False}, f"{where} has no bounds at both ends"


ABSURD = [
    10**400,
    -(10**400),
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
    10**13,
    "9" * 5000,
    "x" * 10**6,
    "\x1b[1m",
]


@pytest.mark.parametrize("name", MODULES)
def test_absurd_values_are_refused_in_one_short_line(name):
    module = importlib.import_module(f"spinney.settings.{name}")
    for cls in vars(module).values():
        if not (isinstance(cls, type) and issubclass(cls, Settings)):
            continue
        for setting in settings_of(cls):
            if setting.kind not in (int, float):
                continue
            for value in ABSURD:
                if value == 10**13 and setting.kind is float:
                    continue
                with pytest.raises(SettingError) as caught:
                    setting.parse(value) if isinstance(value, str) else setting.check(value)
                assert len(str(caught.value)) < 400, (cls, setting.name)
                assert str(caught.value).isprintable(), (cls, setting.name)


def test_a_file_must_have_a_name():
    for name, what in (("", "is empty"), ("a\0b", "has a NUL")):
        with pytest.raises(SettingError, match=f"classes {what}"):
            Data(classes=(name,))
    with pytest.raises(SettingError, match="classes must name a file, not nan"):
        Data(classes=(math.nan,))
    assert Data(classes=(Path("a"),)).classes == ("a",)


@pytest.mark.parametrize(
    ("task", "given", "message"),
    [
        ("tag", {"penalty": "none", "lam": 0.5}, "lam has no effect with penalty none"),
        ("tag", {"penalty": "l1", "step": 0.1}, "step has no effect with penalty"),
        ("embed", {"svd": "exact", "power": 3}, "power has no effect with svd exact"),
        ("trend", {"alpha": 3.0}, "alpha has no effect unless init or method is ridge-ts"),
        ("classify", {"penalty": "none", "lam": 1.0}, "lam has no effect with penalty none"),
        ("classes", {"method": "hmm", "init": "a.paths", "start": 4}, "start has no effect with classes"),
    ],
)
def test_settings_without_effect_are_refused(task, given, message):
    methods = import_module(f"spinney.settings.{task}").FIT
    with pytest.raises(SettingError, match=message):
        choose(methods, given)


@pytest.mark.parametrize(
    ("task", "verb", "given", "message"),
    [
        ("classes", "Evaluate", {"level": 1}, "level has no effect without categories"),
        (
            "classes",
            "Evaluate",
            {"second_subjects": True},
            "second_subjects has no effect without composition",
        ),
        (
            "classes",
            "Plot",
            {"what": "transitions", "words": ("a",)},
            "words has no effect with what transitions",
        ),
        ("classes", "Evaluate", {"clusters": True}, "clusters has no effect without categories"),
        ("classes", "Evaluate", {"linkage": "single"}, "linkage has no effect without categories"),
        ("classes", "Plot", {"linkage": "single"}, "linkage has no effect unless what is dendrogram"),
        ("classes", "Plot", {"relation": "nsubj"}, "relation has no effect unless what is transitions"),
        ("classes", "Plot", {"top": 3}, "top has no effect without context"),
        ("classes", "Exchange", {"init": "uniform"}, "init uniform is a start of the method hmm"),
        ("embed", "Evaluate", {"pos": "noun"}, "pos has no effect without categories"),
        ("embed", "Evaluate", {"method": "3cosmul"}, "method has no effect without analogies"),
        ("parse", "Apply", {"least": 0.5}, "least has no effect unless what is brackets"),
    ],
)
def test_settings_of_verbs_without_effect_are_refused(task, verb, given, message):
    with pytest.raises(SettingError, match=message):
        getattr(import_module(f"spinney.settings.{task}"), verb)(**given)
