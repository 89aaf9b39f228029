"""The kinds of models, and how a file of any of them is opened."""

from __future__ import annotations

from typing import Any

from spinney.files import FilePath, ModelFile, read_model
from spinney.importing import imported
from spinney.settings import choose

#: The class of each kind of model; it is imported only when a file of its kind is opened.
KINDS = {
    "tagging/Tagger": "spinney.tagging:Tagger",
    "tagging/MorphTagger": "spinney.tagging.morphology:MorphTagger",
    "tagging/RefinementTagger": "spinney.tagging.refinement:RefinementTagger",
    **dict.fromkeys(
        ["classify/LinearClassifier", "classify/LinearRegressor", "classify/TreeClassifier"],
        "spinney.classify:TextModel",
    ),
    "classes/Clustering": "spinney.classes:Clustering",
    "classes/HiddenMarkov": "spinney.classes:HiddenMarkov",
    "classes/PairClasses": "spinney.classes:PairClasses",
    "embed/Embedding": "spinney.embed:Embedding",
    "embed/SpectralHMM": "spinney.embed:SpectralHMM",
    "embed/MomentTopics": "spinney.embed:MomentTopics",
    "lm/BackoffModel": "spinney.lm.backoff:BackoffModel",
    "lm/FlatModel": "spinney.lm.flat:FlatModel",
    "lm/SequenceMemoizer": "spinney.lm.memoizer:SequenceMemoizer",
    "lm/LogLinearModel": "spinney.lm.loglinear:LogLinearModel",
    "lm/HierarchicalModel": "spinney.lm.hierarchical:HierarchicalModel",
    "lm/ClassModel": "spinney.lm.classbased:ClassModel",
    "lm/ClassTargetModel": "spinney.lm.classbased:ClassTargetModel",
    "lm/CacheModel": "spinney.lm.cache:CacheModel",
    "lm/LinearMixture": "spinney.lm.mixture:LinearMixture",
    "lm/LogLinearMixture": "spinney.lm.mixture:LogLinearMixture",
    "parsing/Parser": "spinney.parsing:Parser",
    "parsing/HeadAutomata": "spinney.parsing:HeadAutomata",
    "parsing/TreeCRF": "spinney.parsing.treecrf:TreeParser",
    "pipeline/Pipeline": "spinney.pipeline:Pipeline",
    "trend/TrendModel": "spinney.trend:TrendModel",
    "trend/TimeSeriesRegressor": "spinney.trend:TimeSeriesRegressor",
    "trend/TimeSeriesClassifier": "spinney.trend:TimeSeriesClassifier",
    "trend/TimeSeriesTextModel": "spinney.trend:TimeSeriesTextModel",
    "structure/WordClasses": "spinney.structure:WordClasses",
    "structure/WordVectors": "spinney.structure:WordVectors",
    "structure/Groups": "spinney.structure:Groups",
    "structure/ClassTree": "spinney.structure:ClassTree",
}


def load(path: FilePath) -> Any:
    """The model in a file, whatever its task.

    Examples
    --------
    >>> import tempfile, spinney
    >>> from spinney.structure import WordClasses
    >>> path = tempfile.mkdtemp() + "/words.spinney"
    >>> WordClasses(["the", "a"], [0, 0]).save(path)
    >>> spinney.load(path)["a"]
    0
    """
    return load_task(path, None)


def load_task(path: FilePath, task: str | None) -> Any:
    """The model in a file, which must belong to a task such as ``"lm"``."""
    file = read_model(path, PACKAGES.get(task or "", task))
    if file.kind not in KINDS:
        raise file.error(f"contains a kind of model that this version does not know: {file.kind}")
    return opened(imported(KINDS[file.kind]), file)


#: The package of a task, which is how kinds begin, where it is not called as the task is.
PACKAGES = {"tag": "tagging", "parse": "parsing"}


def opened(cls: Any, file: ModelFile) -> Any:
    """The model in a file, with the settings with which it was fitted, if the file records them."""
    _check_facts(file)
    model = cls.from_file(file)
    given = file.header.get("fit")
    if isinstance(given, dict):
        package = file.kind.partition("/")[0]
        task = next((task for task, name in PACKAGES.items() if name == package), package)
        with file.checked():
            model.settings = choose(imported(f"spinney.settings.{task}:FIT"), given)
    return model


#: Facts that people and programs calculate with, by the names that all models use.
_COUNTS = (
    "sentences",
    "documents",
    "tokens",
    "words",
    "iterations",
    "parameters",
    "active",
    "seconds",
    "objective",
)


def _check_facts(file: ModelFile) -> None:
    """Refuse facts of a wrong type; None stands for a number that JSON cannot express."""
    facts = file.header.get("facts")
    if not isinstance(facts, dict):
        return
    for name in _COUNTS:
        if not isinstance(facts.get(name), int | float | None):
            raise file.error(f"damaged: its fact {name!r} is not a number")
    if not isinstance(facts.get("reading", {}), dict):
        raise file.error("damaged: it does not record how its text was read")
