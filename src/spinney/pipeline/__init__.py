"""From one treebank to a whole pipeline: sentences, words, tags, lemmas and trees."""

from typing import TYPE_CHECKING

from spinney.importing import lazy

if TYPE_CHECKING:
    from spinney.pipeline.lemmas import Lemmatiser
    from spinney.pipeline.model import Pipeline
    from spinney.pipeline.recipes import fit
    from spinney.pipeline.tokens import Tokeniser

__all__ = ["Lemmatiser", "Pipeline", "Tokeniser", "fit"]

_EXPORTS = {
    "spinney.pipeline.lemmas": ("Lemmatiser",),
    "spinney.pipeline.model": ("Pipeline",),
    "spinney.pipeline.recipes": ("fit",),
    "spinney.pipeline.tokens": ("Tokeniser",),
}
__getattr__ = lazy(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
