"""Which γ? Online EM hangs on the size of its steps (Liang & Klein 2009), so try a few on a part of the text."""

from __future__ import annotations

import numpy as np

from spinney.classes.learning import Corpus, Learner, step_sizes
from spinney.classes.shuffling import Shuffle, batches_of
from spinney.classes.statistics import Statistics
from spinney.errors import OptionError
from spinney.progress import task

#: The grid of the thesis (Grave 2014, §2.2.1).
GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def gamma_scores(
    corpus: Corpus,
    begun: Statistics,
    learner: Learner,
    batch_tokens: int,
    delay: float,
    seed: int,
    shuffle: Shuffle = "pieces",
) -> dict[float, float]:
    """For each γ, the log-likelihood per token after one pass over a sample, of the sentences that follow the sample.

    The sample is a tenth of the text, at most a million tokens; half of a text that is short.
    """
    arrays = corpus.arrays
    share = min(0.1, 1e6 / arrays.n_tokens) if arrays.n_tokens > 200_000 else 0.5
    cut = max(1, int(np.searchsorted(arrays.offsets, share * arrays.n_tokens)))
    end = max(cut + 1, int(np.searchsorted(arrays.offsets, 1.2 * share * arrays.n_tokens)))
    sample = Corpus(arrays.part(0, cut), corpus.tree, corpus.kind_of)
    after = Corpus(arrays.part(cut, end), corpus.tree, corpus.kind_of)
    if not after.arrays.n_tokens:
        raise OptionError("a search for gamma needs more than one sentence")
    found: dict[float, float] = {}
    with task("search for γ", total=len(GAMMAS) * sample.arrays.n_tokens) as work:
        for gamma in GAMMAS:
            statistics = Statistics.of(begun.omega.copy(), begun.tau.copy(), begun.rho.copy())
            batches = batches_of(sample, batch_tokens, np.random.default_rng(seed), shuffle)
            statistics.scaled(sample.arrays.n_tokens / len(batches))
            alpha = step_sizes(gamma, delay)

            def rng(t: int) -> np.random.Generator:
                return np.random.default_rng([seed, t])

            learner.online_pass(sample, statistics, batches, alpha, 0, rng, work, lambda t, half: None)
            found[gamma] = learner.log_likelihood(after, learner.laws(statistics)) / after.arrays.n_tokens
    return found
