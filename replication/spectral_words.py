"""Spectral learning for NLP (tutorial, 2013): vectors of words and tokens, replicated on the text at hand.

    python replication/spectral_words.py [--quick] [--only NAME …] [--missing] [--seed S] [--cache DIR] [--out FILE]

Studies: vectors, sizes, tagging, views. The data sets are looked for under SPINNEY_DATA; gensim, if it is installed, is
compared with. Texts are kept in the cache, a temporary folder unless one is named. What they find is kept in
``results/spectral_words.md``, study by study.
"""

from __future__ import annotations

from collections.abc import Callable

from grave_semcor import data_folder
from spectral_common import Setting
from spectral_tagging import tagging
from spectral_vectors import methods, sizes
from spectral_views import views
from studies import run_studies

STUDIES: dict[str, Callable[[Setting], str]] = {
    "vectors": methods,
    "sizes": sizes,
    "tagging": tagging,
    "views": views,
}

DIFFERENCES = """\
## What differs from the tutorial, and why

- Its vectors came from 63 M tokens of RCV-1 (300,000 words), Google n-grams or 100 M tokens; ours from what is free.
- It names neither the window, the transform, the scaling of features nor the method (one-step CCA, LR-MVL) behind its
  error reductions, and gives no absolute scores: only the sign and the size of a reduction can be compared.
- What "holds" below a table is decided by the numbers of this run, one seed, however small the difference, unless a
  p-value is named.
- Seconds are those of a machine with two cores that had other work to do: they are indicative.
"""


def main() -> None:
    """Run the studies, print and keep their tables."""
    run_studies(
        STUDIES,
        lambda quick, seed, cache: Setting(quick, seed, data_folder(), cache),
        title="Spectral learning (tutorial, 2013): words, replicated",
        ending=DIFFERENCES,
        name="spectral_words",
        about=(__doc__ or "").splitlines()[0],
        quick="less text, parts of the training sets; minutes",
    )


if __name__ == "__main__":
    main()
