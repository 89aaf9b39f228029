"""The page of a language model: its size by order, what matters most in it, and what comes after its contexts."""

from __future__ import annotations

from spinney.lm.model import LanguageModel
from spinney.report.lm import model_facts, told_facts
from spinney.report.lm_views import KINDS, View, explored, size_view, strongest
from spinney.report.page import Html, Section, bars, heading, page, paragraph, table
from spinney.report.words import short

_CONTEXTS = 300  # in the explorer
_WORDS = 10  # after each

_ABOUT = (
    "A language model ({}): the probability of each word, or the end of the sentence, given the words before."
)


def lm_page(model: LanguageModel, title: str, *, top: int = 20) -> str:
    """The whole page.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.smoothing import fit_ngram
    >>> text = sentence_arrays([["a", "rose"], ["is", "a", "rose"]], unknown="<unk>")
    >>> page = lm_page(fit_ngram(text, "witten-bell", order=2), "roses")
    >>> "<h2>Size by order</h2>" in page, "<h2>What comes next</h2>" in page
    (True, True)
    """
    sections = []
    size = size_view(model)
    if size is not None:
        grams = [(str(row[0]), float(row[2])) for row in size.rows]
        sections.append(Section("Size by order", [table(size.header, size.rows), bars(grams)]))
    views = [view for view in strongest(model, top) if view.rows]
    sections += [Section(view.title, [_table(view)]) for view in views]
    parts = [block for name, part in model.components().items() for block in _part(name, part, top)]
    if parts:
        sections.append(Section("Parts", parts))
    sections.append(Section("What comes next", _explorer(model)))
    facts = told_facts(model_facts(model))
    return page(title, _ABOUT.format(KINDS[model.kind]), facts, sections)


def _table(view: View) -> Html:
    return table(view.header, view.rows)


def _part(name: str, part: LanguageModel, top: int) -> list[Html]:
    """A model inside the model."""
    views = [size_view(part), *strongest(part, min(top, 10))]
    return [heading(f"{name}: {KINDS[part.kind]}"), *(_table(view) for view in views if view and view.rows)]


def _explorer(model: LanguageModel) -> list[Html]:
    """Contexts with their likeliest continuations, to be filtered by what one types."""
    rows = [
        [context, "  ·  ".join(f"{short(word)} {p:.1%}" for word, p in words), words[0][1]]
        for context, words in explored(model, _CONTEXTS, _WORDS)
    ]
    about = (
        f"The {_WORDS} likeliest continuations of {len(rows):,} frequent contexts; <s> is the start of a sentence, "
        "</s> its end. Type words into the filter to find a context or a continuation."
    )
    return [paragraph(about), table(["after", "likeliest next", "probability of the first"], rows)]
