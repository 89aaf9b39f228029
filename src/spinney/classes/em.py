"""The course of EM training: splits, passes, held-out text, checkpoints."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from spinney.classes.learning import Corpus, Half, Pass, step_sizes
from spinney.classes.relations import class_edges
from spinney.classes.shuffling import batches_of
from spinney.classes.statistics import Statistics, classes_start, random_start, split, uniform_start
from spinney.classes.stepsize import gamma_scores
from spinney.errors import OptionError
from spinney.files import FilePath
from spinney.interrupts import uninterrupted
from spinney.progress import Task, log, task
from spinney.structure import WordClasses

if TYPE_CHECKING:
    from spinney.classes.hidden import HiddenMarkov


class Done(NamedTuple):
    """How far training has come: passes at the present number of classes, steps of online EM, whether that was all."""

    passes: int = 0
    steps: int = 0
    finished: bool = False


def beginning(
    model: HiddenMarkov,
    corpus: Corpus,
    init: WordClasses | HiddenMarkov | Literal["random", "uniform"] | None,
) -> Statistics:
    """The statistics that training begins with."""
    dtype, kinds, counts = np.dtype(model.how.dtype), len(model.relations_), model.vocabulary_.counts
    rng = _rng(model, 0)
    if init is None or isinstance(init, str):
        size = model.n_classes if model.how.start is None else model.how.start
        start = uniform_start if init == "uniform" else random_start
        return start(counts, size, kinds, rng, dtype)
    if not isinstance(init, WordClasses):
        old = init.statistics_
        return Statistics(old.omega.astype(dtype), old.mass.copy(), old.tau.copy(), old.rho.copy(), old.gain)
    if not 2 <= init.n_classes <= model.n_classes:
        raise OptionError(f"the initial classes are {init.n_classes}, but {model.n_classes} are asked for")
    classes = init.encode(list(model.vocabulary_.words))
    if np.all(classes < 0):
        raise OptionError("no word of the text is in the initial classes")
    edges, roots = class_edges(corpus, classes, init.n_classes, kinds)
    return classes_start(classes, counts, edges, roots, rng, dtype)


class EMTraining:
    """The course of one fit. It changes the model as it goes; whenever it is interrupted, the model is sound."""

    def __init__(
        self, model: HiddenMarkov, corpus: Corpus, held_out: Corpus | None, checkpoint: FilePath | None
    ) -> None:
        self.model, self.corpus, self.held_out, self.checkpoint = model, corpus, held_out, checkpoint

    def search_gamma(self) -> None:
        """Choose γ on a part of the text."""
        model = self.model
        found = gamma_scores(
            self.corpus,
            model.statistics_,
            model._learner,
            model.how.batch_tokens,
            model.how.delay,
            model.random_state,
            model.how.shuffle,
        )
        model.facts["gammas"] = {str(gamma): value for gamma, value in found.items()}
        model.gamma_ = max(found, key=found.__getitem__)

    def run(self) -> None:
        """Make all passes that are still to be made."""
        model = self.model
        while (size := model.statistics_.n_classes) < model.n_classes:
            while model._done.passes < model.how.split_passes:
                self._pass()
            log.info("starting with %d classes, which will be split", size)
            larger = min(2 * size, model.n_classes)
            halves = split(model.statistics_, larger, _rng(model, size), model.how.noise)
            with uninterrupted():
                model.statistics_, model._done = halves, Done()
        while model._done.passes < model.how.passes and not self._waited_enough():
            self._pass()
        self._go_back()
        if model.how.em == "online" and model.how.finish:
            self._pass(last=True)
        model._done = model._done._replace(finished=True)
        if self.checkpoint is not None:
            model.save(self.checkpoint)

    def _waited_enough(self) -> bool:
        """Whether the last passes, those before an interruption among them, brought no progress on held-out text."""
        patience, values = self.model.how.patience, self._held_out_values()
        if patience is None or not values or len(values) - 1 - values.index(max(values)) < patience:
            return False
        self.model.facts["stopped_early"] = True
        return True

    def _held_out_values(self) -> list[float]:
        """How likely held-out text was after each pass with all classes; none if it is not to choose between them."""
        model = self.model
        if self.held_out is None or model.how.patience is None:
            return []
        rows = [row for row in model.facts["trace"] if row["classes"] == model.n_classes]
        return [row["dev"] for row in rows[len(rows) - model._done.passes :] if "dev" in row]

    def _keep_best(self) -> None:
        """Before a pass, which changes it in place: keep what there is, if it is the best so far on held-out text."""
        model = self.model
        if self._held_out_values() and model._best is None and not model._half.batches:
            model._best = model.statistics_.copy()

    def _go_back(self) -> None:
        """After the passes: take what was best on held-out text, if that was not the last pass."""
        model, values = self.model, self._held_out_values()
        if not values:
            return
        back = len(values) - values.index(max(values))
        row = model.facts["trace"][-back]
        model.facts["best_pass"] = row["pass"]
        if model._best is None:
            return
        with uninterrupted():
            model.statistics_, model._best, model._row = model._best, None, -back
        log.info("going back to pass %d, the best on held-out text: %.4f", row["pass"], row["dev"])

    def _pass(self, last: bool = False) -> None:
        """One pass over the text. It is counted once it is whole: an interrupt leaves its beginning, or none of it."""
        model, n, done = self.model, self.corpus.arrays.n_tokens, self.model._done.passes
        batch, C = last or model.how.em == "batch", model.statistics_.n_classes
        name = f"{'batch' if batch else 'online'} EM, {C} classes, pass {done + 1}"
        started, before = time.perf_counter(), 0.0 if batch else model._half.seconds
        if not last:
            self._keep_best()
        with task(name, total=n) as work:
            statistics, found = self._batch_pass(work, last) if batch else self._online_pass(work)
        row = {
            "classes": C,
            "pass": done + 1,
            "log_likelihood": found.log_likelihood / n,
            "support": found.support,
            "seconds": before + time.perf_counter() - started,
        }
        if self.held_out is not None:
            value = model._learner.log_likelihood(self.held_out, model._learner.laws(statistics))
            row["dev"] = value / self.held_out.arrays.n_tokens
        harmful = last and self._harms(row)
        with uninterrupted():
            model._half = Half()
            model._done = model._done._replace(passes=done if last else done + 1, finished=last)
            model.facts["revived"] += found.revived
            model.facts["trace"].append(row)
            if harmful:
                model._row -= 1  # one row further back
            else:
                model.statistics_, model._row = statistics, -1
            values = [] if last else self._held_out_values()
            if values and values.index(max(values)) == len(values) - 1:
                model._best = None  # what there is now is better
        dev = f", held out {row['dev']:.4f}" if "dev" in row else ""
        told = name, row["log_likelihood"], dev, row["seconds"]
        log.info("%s: log-likelihood per token %.4f%s, %.1f s", *told)
        if harmful:
            log.info("the final pass is left out: held-out text is less likely after it")
        if self.checkpoint is not None and not last:
            model.save(self.checkpoint)

    def _harms(self, row: dict[str, Any]) -> bool:
        """Whether the final pass made held-out text less likely, where that is to choose between passes."""
        if not self._held_out_values():
            return False
        return bool(row["dev"] < self.model.facts["trace"][self.model._row]["dev"])

    def _batch_pass(self, work: Task, last: bool) -> tuple[Statistics, Pass]:
        model = self.model
        statistics, found = model._learner.batch_pass(self.corpus, model.statistics_, work)
        if last:  # a class that is brought back now would never be trained
            return statistics, found
        revived = statistics.revive(_rng(model, model._done.passes, 1), model.how.noise)
        return statistics, found._replace(revived=revived)

    def _online_pass(self, work: Task) -> tuple[Statistics, Pass]:
        model, C = self.model, self.model.statistics_.n_classes
        done = model._done.passes
        batches = batches_of(self.corpus, model.how.batch_tokens, _rng(model, done, C), model.how.shuffle)
        if not 0 < model._half.batches <= len(batches):
            model._half = Half()
            model.statistics_.scaled(self.corpus.arrays.n_tokens / len(batches))

        def watch(t: int, half: Half) -> None:
            model._done, model._half = model._done._replace(steps=t), half

        def rng(t: int) -> np.random.Generator:
            return _rng(model, done, C, t)

        alpha = step_sizes(model.gamma_, model.how.delay)
        found = model._learner.online_pass(
            self.corpus, model.statistics_, batches, alpha, model._done.steps, rng, work, watch, model._half
        )
        model.statistics_.fold()  # so that a checkpoint holds exactly what goes on
        return model.statistics_, found


def _rng(model: Any, *stream: int) -> np.random.Generator:
    return np.random.default_rng([model.random_state, *stream])
