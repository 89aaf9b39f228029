"""The page of a language model: its size by order, what matters most in it, and what comes after its contexts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus import sentence_arrays
from spinney.errors import OptionError
from spinney.lm.model import LanguageModel
from spinney.lm.scores import TextScores
from spinney.lm.stream import END, START
from spinney.lm.views import KINDS, NAMES, explored, model_facts, size_view, strongest
from spinney.report.lm_explorer import exploration, explorer
from spinney.report.page import (
    Html,
    Page,
    Section,
    bars,
    columns,
    escape,
    facts,
    heading,
    joined,
    paragraph,
    table,
)
from spinney.report.path_page import chosen_section
from spinney.report.tables import told
from spinney.structure.words import short
from spinney.views import Table as View

_CONTEXTS = 100  # in a table
_TOKENS = 200  # of a sentence that are shown
_LISTED = 6  # words after each of them
_WORDS = 10  # after a context in the explorer

_ABOUT = (
    "A language model ({}): the probability of each word, or the end of the sentence, given the words before."
)


@dataclass(frozen=True, eq=False)
class ReadText:
    """Sentences that a model read, and what it made of them."""

    sentences: Sequence[Sequence[str]]
    scores: TextScores
    depths: NDArray[np.int32] | None

    @classmethod
    def of(cls, model: LanguageModel, sentences: Sequence[Sequence[str]]) -> ReadText:
        """Let a model read."""
        arrays = sentence_arrays(sentences, vocabulary=model.reading_vocabulary)
        scores = TextScores.of(model, arrays)
        try:
            depths = model.match_depths(scores.stream)
        except OptionError:
            depths = None
        return cls(sentences, scores, depths)

    def losses(self, i: int) -> tuple[list[float], list[int] | None]:
        """Bits of each word of a sentence and of its end, and the length of the context that was matched, if known."""
        start = sum(len(words) + 1 for words in self.sentences[:i])
        stop = start + len(self.sentences[i]) + 1
        bits = -self.scores.logprobs[start:stop] / math.log(2.0)
        return bits.tolist(), None if self.depths is None else self.depths[start:stop].tolist()


def lm_page(
    model: LanguageModel,
    title: str,
    read: ReadText | None = None,
    *,
    documents: int = 10,
    top: int = 20,
    lowercase: bool = False,
) -> Page:
    """The whole page.

    Parameters
    ----------
    model
        Any.
    title
        Of the page.
    read
        A text to show the model on.
    documents
        How many sentences of it.
    top
        How many contexts, weights or classes.
    lowercase
        Whether the model read its text in lower case.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> page = lm_page(fit_ngram(text, "witten-bell", order=2), "roses").html()
    >>> "<h2>Size by order</h2>" in page, "<h2>What comes next</h2>" in page
    (True, True)
    """
    known: dict[str, object] = told(model_facts(model), NAMES)
    sections = []
    if read is not None:
        found = read.scores.facts()
        known["perplexity of the text"] = found["perplexity"]
        sections += [Section("Text", _text(read, found, documents)), Section("Losses", _losses(read))]
    sections.append(Section("What comes next", _explorer(model, lowercase)))
    sections += chosen_section(model.facts.get("tuning"), chosen=model.facts.get("lam"))
    size = size_view(model)
    if size is not None:
        grams = [(str(row[0]), float(row[2])) for row in size.rows]
        sections.append(Section("Size by order", [columns([table(size.header, size.rows), bars(grams)])]))
    views = [view for view in strongest(model, top) if view.rows]
    sections += [Section(view.title, [_table(view)]) for view in views]
    parts = [block for name, part in model.components().items() for block in _part(name, part, top)]
    if parts:
        sections.append(Section("Parts", parts))
    return Page(title, _ABOUT.format(KINDS[model.kind]), known, sections)


def _table(view: View) -> Html:
    return table(view.header, view.rows)


def _part(name: str, part: LanguageModel, top: int) -> list[Html]:
    """A model inside the model."""
    views = [size_view(part), *strongest(part, min(top, 10))]
    return [heading(f"{name}: {KINDS[part.kind]}"), *(_table(view) for view in views if view and view.rows)]


def _explorer(model: LanguageModel, lowercase: bool) -> list[Html]:
    """A box to type into, and the contexts that are most frequent in a table."""
    rows = [
        [context, "  ·  ".join(f"{short(word)} {p:.1%}" for word, p in words)]
        for context, words in explored(model, _CONTEXTS, _LISTED)
    ]
    found = exploration(model, _WORDS)
    about = (
        "Type some words: what comes after the longest end of them that this page holds, of "
        f"{len(found['contexts']):,} frequent contexts. <s> is the start of a sentence, </s> its end. A bar is the "
        "probability after all these words, the paler ones below it after fewer of them, down to none; so they tell "
        "what each word of the context brings. Take a word to go on with it."
    )
    return [
        paragraph(about),
        explorer(found, lowercase=lowercase),
        heading("Frequent contexts"),
        table(["after", "likeliest next"], rows),
    ]


# ------------------------------------------------------------------------------------------------ a text

_BITS = (2, 5, 8, 12)  # where the shades change


def _text(read: ReadText, found: Mapping[str, Any], n: int) -> list[Html]:
    bits = math.log2(found["perplexity"]) if math.isfinite(found["perplexity"]) else math.inf
    told = {
        "perplexity": found["perplexity"], "bits a word": bits,
        "perplexity without ends": found["perplexity_without_ends"],
        "perplexity without unknown words": found["perplexity_without_unknown"],
        "scored": found["scored"], "unknown words": found["unknown"], "sentences": found["sentences"],
    }  # fmt: skip
    bounds = [
        f"below {_BITS[0]}",
        *(f"{low} to {high}" for low, high in pairwise(_BITS)),
        f"{_BITS[-1]} and more",
    ]
    legend = " ".join(f'<span class="loss l{i}">{escape(name)}</span>' for i, name in enumerate(bounds))
    shown = min(n, len(read.sentences))
    about = joined(
        [
            f"{shown:,} of {len(read.sentences):,} sentences, words shaded by their loss in bits: ",
            Html(legend),
            " Point at a word for its loss and for how much of what stands before the model has seen.",
        ]
    )
    return [facts(told), paragraph(about), *(_sentence(read, i) for i in range(shown))]


def _sentence(read: ReadText, i: int) -> Html:
    bits, depths = read.losses(i)
    words = [*read.sentences[i], END][:_TOKENS]
    spans = []
    for t, word in enumerate(words):
        note = f"{bits[t]:.1f} bits" if math.isfinite(bits[t]) else "impossible"
        if depths is not None:
            before = [START, *words[:t]][t + 1 - depths[t] :]
            note += f"; matched context: {' '.join(map(short, before)) or 'none'}"
        level = sum(bits[t] >= bound for bound in _BITS)
        faint = " faint" if t == len(read.sentences[i]) else ""
        spans.append(f'<span class="loss l{level}{faint}" title="{escape(note)}">{escape(word)}</span>')
    left = len(read.sentences[i]) + 1 - len(words)
    rest = f' <span class="faint">… {left:,} more words</span>' if left else ""
    return Html(f'<p class="losses">{" ".join(spans)}{rest}</p>\n')


def _losses(read: ReadText) -> list[Html]:
    """Where the loss is: by what was matched, and by how frequent a word was in training."""
    views = []
    if read.depths is not None:
        views.append(read.scores.by_depth(read.depths))
    with suppress(OptionError):  # a model that does not know how often words were seen
        views.append(read.scores.by_frequency())
    return [columns(joined([heading(view.title), _table(view)]) for view in views)]
