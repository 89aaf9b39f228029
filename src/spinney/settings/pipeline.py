"""Settings of pipelines: from raw text to tokens, tags, lemmas and dependency trees."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from spinney.errors import SettingError
from spinney.settings import (
    AMOUNT,
    COUNT,
    DATA,
    FEATURES,
    OUTPUT,
    PENALTY,
    ROUNDS,
    TRAINING,
    AtLeast,
    AtMost,
    Common,
    File,
    Repeated,
    Settings,
    Spread,
    methods,
)
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.explain import Explained
from spinney.settings.text import Decoding

Part = Literal["tokens", "tags", "lemmas", "trees"]


@dataclass(frozen=True, kw_only=True)
class _Treebanks(Decoding):
    """What a pipeline learns from."""

    panel = DATA
    dev: Annotated[str | None, File, "Held-out treebank, on which strengths are chosen."] = None
    test: Annotated[str | None, File, "Treebank to score the pipeline on at the end."] = None
    raw: Annotated[
        tuple[str, ...], Repeated, File, "Raw text of the language, for word classes and vectors."
    ] = ()
    limit: Annotated[int | None, AtLeast(1), COUNT, "Learn from the first so many sentences only."] = None


@dataclass(frozen=True, kw_only=True)
class _Structure(Settings):
    """What raw text gives."""

    panel = FEATURES
    classes: Annotated[
        int | None,
        AtLeast(2),
        AtMost(4096),
        COUNT,
        "Number of word classes learned from raw text (default: one for 500 words, from 32 to 256).",
    ] = None
    dimensions: Annotated[
        int, AtLeast(0), AtMost(1000), COUNT, "Dimensions of word vectors learned from raw text; 0: none."
    ] = 0
    word_classes: Annotated[
        tuple[Any, ...],
        Repeated,
        File,
        "Word classes of one's own as features, beside those of raw text: NAME=FILE.",
    ] = ()
    word_vectors: Annotated[
        tuple[Any, ...], Repeated, File, "Word vectors of one's own as features: NAME=FILE."
    ] = ()
    order: Annotated[int, AtLeast(1), AtMost(2), "Parser: 1 sees arcs, 2 also neighbouring modifiers."] = 2
    rich: Annotated[bool | None, "Parser: more features (default: from 5,000 sentences on)."] = None


@dataclass(frozen=True, kw_only=True)
class _Strengths(Settings):
    """How small the models are."""

    panel = PENALTY
    lam: Annotated[
        float | None, AtLeast(0), AMOUNT, "Parser's strength λ (default: chosen on dev; without dev 0.5)."
    ] = None


@dataclass(frozen=True, kw_only=True)
class Treebank(_Strengths, _Structure, _Treebanks, Spread):
    """Everything from one treebank."""

    panel = TRAINING
    method: Annotated[Literal["treebank"], "Method."] = "treebank"
    jackknife: Annotated[
        int,
        AtLeast(1),
        AtMost(100),
        ROUNDS,
        "Parts in which training sentences get predicted tags; 1: true tags.",
    ] = 4
    checkpoint: Annotated[str | None, File, "Model file to write after each part."] = None
    resume: Annotated[bool, "Continue from the checkpoint, if it exists."] = False

    def check(self) -> None:
        super().check()
        if self.resume and self.checkpoint is None:
            raise SettingError("{resume} needs a file to continue from: give {checkpoint}")
        self.need_names("word_classes", "word_vectors")
        if not self.raw:
            self.no_effect("classes", "dimensions", when="without {raw} text")


FIT = methods(Treebank)


@dataclass(frozen=True, kw_only=True)
class Apply(Decoding, Common):
    """``apply``: CoNLL-U for text."""

    panel = OUTPUT
    format: Annotated[
        Literal["text", "lines", "conllu"],
        "Raw text; tokens separated by spaces, one sentence per line; or CoNLL-U, whose tokens stay.",
    ] = "text"
    until: Annotated[Part, "Stop after tokens, tags, lemmas or trees."] = "trees"
    proba: Annotated[bool, "Add the probabilities of tags, arcs and relations to MISC."] = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(Decoding, Common):
    """``eval``: the metrics of the CoNLL 2018 shared task."""

    panel = OUTPUT
    start: Annotated[
        Literal["tokens", "text", "tags"], "Start from the treebank's tokens, its raw text, or its tags."
    ] = "tokens"
    against: Annotated[
        tuple[str, ...],
        Repeated,
        File,
        "Another model or CoNLL-U output to compare with, by a significance test.",
    ] = ()


@dataclass(frozen=True, kw_only=True)
class Inspect(Common):
    """``inspect``: what each part learned."""

    panel = OUTPUT
    part: Annotated[
        tuple[Part, ...], Repeated, "Show this part in detail: tokens, tags, lemmas or trees."
    ] = ()
    top: Annotated[int, AtLeast(1), COUNT, "Number of features to show for each."] = 6


@dataclass(frozen=True, kw_only=True)
class Explain(Decoding, Explained, Common):
    """``explain``: why words have their heads or tags."""

    panel = OUTPUT
    part: Annotated[
        Literal["tags", "trees"] | None, "Explain tags or heads (default: heads, if there is a parser)."
    ] = None
    format: Annotated[Literal["text", "lines", "conllu"], "Format of the text."] = "text"


@dataclass(frozen=True, kw_only=True)
class _ElanTiers(Settings):
    """Tiers of ELAN files; a type of tiers, or a pattern, stands for those of all speakers."""

    panel = DATA
    words: Annotated[str | None, "ELAN tier of words: its name, its type, or a pattern such as words@*."] = (
        None
    )
    sentences: Annotated[str | None, "ELAN tier of utterances (default: the one above words)."] = None
    upos: Annotated[str | None, "ELAN tier of parts of speech."] = None
    xpos: Annotated[str | None, "ELAN tier of tags of your own, beside parts of speech."] = None
    lemmas: Annotated[str | None, "ELAN tier of lemmas."] = None
    feats: Annotated[str | None, "ELAN tier of features, such as Case=Acc|Number=Plur."] = None
    glosses: Annotated[str | None, "ELAN tier of glosses, which go into MISC."] = None


@dataclass(frozen=True, kw_only=True)
class Import(_ElanTiers, Decoding, Common):
    """``import``: CoNLL-U from other annotations."""

    panel = DATA
    format: Annotated[
        Literal["elan", "columns", "tagged"] | None,
        "ELAN; one word per line, in columns; or lines of word/TAG (default: by the file name).",
    ] = None
    columns: Annotated[tuple[str, ...] | None, "What the columns are: form,lemma,upos,feats,gloss,_."] = None
