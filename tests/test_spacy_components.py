"""Spinney's models in spaCy pipelines: what they set is what the models say, alone, in batches, and saved."""

import itertools

import pytest

import spinney
import spinney.classes
import spinney.classify
import spinney.tagging
from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError

spacy = pytest.importorskip("spacy")

SENTENCES = [["Ada", "King", "slept"], ["Bob", "slept", "in", "London"], ["Ada", "left", "New", "York"]]
NAMES = [["B-PER", "I-PER", "O"], ["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC", "I-LOC"]]
POS = [["PROPN", "PROPN", "VERB"], ["PROPN", "VERB", "ADP", "PROPN"], ["PROPN", "VERB", "PROPN", "PROPN"]]
TEXT = "Ada King slept.\n\n  Bob left New York."


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model file of each kind."""
    import spinney.spacy_components  # as the entry points do
    from spinney.parsing import HeadAutomata, Parser

    folder = tmp_path_factory.mktemp("models")
    heads = [
        Sentence(["a", "b"], upos=["PROPN", "VERB"], heads=[2, 0]),
        Sentence(list("abcd"), upos=POS[1], heads=[2, 0, 2, 3]),
    ]
    trees = ["(S (NP (N Ada)) (VP (V slept)) (. .))", "(S (NP (N Bob)) (VP (V left)) (. .))"]
    texts = (["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    made = {
        "names": spinney.tagging.fit((SENTENCES, NAMES), preset="ner", lam=0.05, encode="bioes"),
        "pos": spinney.tagging.fit((SENTENCES, POS), preset="pos", lam=0.05),
        "topics": spinney.classify.fit(texts, lam=0.1),
        "classes": spinney.classes.fit(SENTENCES * 4, classes=3, lowercase=True),
        "heads": HeadAutomata(states=2, smoothing=0.1, column="upos").fit(heads),
        "grammar": Parser("pcfg").fit(map(Tree.parse, trees)),
    }
    for name, model in made.items():
        model.save(folder / f"{name}.spinney")
    return folder


def _pipeline(folder, **components):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for name, config in components.items():
        nlp.add_pipe(f"spinney_{name}", config={**config, "model": str(folder / config["model"])})
    return nlp


@pytest.fixture
def nlp(models):
    return _pipeline(
        models,
        ner={"model": "names.spinney"},
        tagger={"model": "pos.spinney", "attribute": "pos"},
        textcat={"model": "topics.spinney"},
        classes={"model": "classes.spinney"},
        parser={"model": "heads.spinney"},
    )


def _seen(doc):
    return (
        [(span.text, span.label_, span._.probability) for span in doc.ents],
        [(t.pos_, t._.word_class, t._.class_path, t.head.i, t.dep_) for t in doc],
        doc.cats,
    )


def test_documents_say_what_the_models_say(nlp, models):
    doc = nlp(TEXT)
    words = [[t.text for t in sentence if not t.is_space] for sentence in doc.sents]
    assert words == [["Ada", "King", "slept", "."], ["Bob", "left", "New", "York", "."]]
    names, pos = (spinney.load(models / f"{name}.spinney") for name in ("names", "pos"))
    assert [(span.text, span.label_) for span in doc.ents] == [
        ("Ada King", "PER"),
        ("Bob", "PER"),
        ("New York", "LOC"),
    ]
    expected = [entity.probability for some in names.predict_phrases(words) for entity in some]
    assert [span._.probability for span in doc.ents] == pytest.approx(expected)
    tags = [t.pos_ for sentence in doc.sents for t in sentence if not t.is_space]
    assert tags == list(itertools.chain(*pos.predict(words)))
    assert [t.pos_ for t in doc if t.is_space] == ["SPACE"]
    topics = spinney.load(models / "topics.spinney")
    assert doc.cats == pytest.approx(dict(zip(topics.outputs, topics.predict_proba([doc.text])[0])))
    brown = spinney.load(models / "classes.spinney").word_classes()
    assert [t._.word_class for t in doc[:3]] == [brown[word] for word in ("ada", "king", "slept")]
    assert doc[0]._.class_path == brown.paths[brown["ada"]]
    assert doc[3]._.word_class is None  # the full stop was not in the training text
    heads = spinney.load(models / "heads.spinney").predict([tags[:4], tags[4:]])
    for sentence, above in zip(doc.sents, heads):
        tokens = [t for t in sentence if not t.is_space]
        assert [t.head.i for t in tokens] == [
            tokens[head - 1].i if head else t.i for t, head in zip(tokens, above.tolist())
        ]
        assert sum(t.dep_ == "ROOT" for t in tokens) == 1


def test_a_batch_is_as_one_after_the_other(nlp):
    texts = [TEXT, "", "  ", "Bob slept.", "It was a great fun."] * 3
    assert [_seen(doc) for doc in nlp.pipe(texts, batch_size=4)] == [_seen(nlp(text)) for text in texts]


def test_a_saved_pipeline_needs_no_other_file(nlp, models, tmp_path):
    expected = _seen(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline")
    for file in models.glob("*.spinney"):
        file.rename(file.with_suffix(".away"))
    try:
        loaded = spacy.load(tmp_path / "pipeline")
        with_bytes = spacy.util.load_model_from_config(nlp.config, auto_fill=True).from_bytes(nlp.to_bytes())
    finally:
        for file in models.glob("*.away"):
            file.rename(file.with_suffix(".spinney"))
    assert _seen(loaded(TEXT)) == expected
    assert _seen(with_bytes(TEXT)) == expected
    saved = (tmp_path / "pipeline" / "spinney_ner" / "model.spinney").read_bytes()
    assert saved == (models / "names.spinney").read_bytes()


def test_a_grammar_gives_trees_and_heads(models):
    doc = _pipeline(models, parser={"model": "grammar.spinney"})("Ada left. Bob slept.")
    assert doc._.bracketed == "(S (NP (N Ada)) (VP (V left)) (. .))\n(S (NP (N Bob)) (VP (V slept)) (. .))"
    assert [(t.head.text, t.dep_) for t in doc][:3] == [("left", "sbj"), ("left", "ROOT"), ("left", "punct")]


def test_documents_travel_with_their_probabilities(nlp):
    doc = nlp(TEXT)
    again = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert _seen(again) == _seen(doc)


@pytest.mark.slow
def test_in_two_processes(nlp):
    texts = [TEXT, "Bob slept.", "Ada left New York."] * 2
    assert [_seen(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == [
        _seen(nlp(t)) for t in texts
    ]


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("ner", {"model": "pos.spinney"}, "its labels are not those of entities .* .use spinney_tagger"),
        ("ner", {"model": "topics.spinney"}, "kind classify/LinearClassifier .give one of spinney tag fit"),
        ("textcat", {"model": "names.spinney"}, "kind tagging/Tagger .give one of spinney classify fit"),
        (
            "tagger",
            {"model": "names.spinney", "attribute": "pos"},
            "'B-PER' is not a universal part of speech",
        ),
        ("ner", {"model": "nmaes.spinney"}, "no such file .did you mean .*names.spinney"),
    ],
)
def test_mistakes(models, name, config, says):
    with pytest.raises(InputError, match=says) as caught:
        _pipeline(models, **{name: config})("Ada slept.")
    assert "\n" not in str(caught.value)


def test_spacy_may_ask_a_component_without_a_model_for_anything():
    # What ``isinstance(component, Protocol)`` does, for every name that spaCy's protocols have, in any order.
    from spacy import ty

    protocols = (ty.TrainableComponent, ty.InitializableComponent, ty.ListenedToComponent)
    names = {name for one in protocols for name in (*vars(one), *one.__annotations__)}
    for kind in ("tagger", "ner", "textcat", "parser", "classes", "pipeline"):
        component = spacy.blank("en").add_pipe(f"spinney_{kind}")
        assert "model" in names
        assert not any(isinstance(component, one) for one in protocols)
        for name in names:
            hasattr(component, name)


def test_mistakes_of_the_pipeline(models, tmp_path):
    bare = spacy.blank("en")
    bare.add_pipe("spinney_ner")
    with pytest.raises(InputError, match="spinney_ner has no model: give config="):
        bare("Ada slept.")
    with pytest.raises(InputError, match=r"no token has a pos_ \(put a component before it"):
        _pipeline(models, parser={"model": "heads.spinney"})("Ada slept.")
    unsplit = spacy.blank("en")
    unsplit.add_pipe("spinney_parser", config={"model": str(models / "grammar.spinney")})
    with pytest.raises(InputError, match="no sentences are marked"):
        unsplit("Ada slept.")
    with pytest.raises(OptionError, match="columns are attributes of tokens"):
        _pipeline(models, ner={"model": "names.spinney", "columns": ["tex"]})
    rows = [[(w, "x") for w in sentence] for sentence in SENTENCES]
    spinney.tagging.fit((rows, NAMES), patterns="U:%x[0,1]\nB", lam=1.0).save(tmp_path / "two.spinney")
    with pytest.raises(InputError, match=r"name an attribute of spaCy's tokens for each column"):
        _pipeline(tmp_path, ner={"model": "two.spinney"})("Ada slept.")
    both = _pipeline(tmp_path, ner={"model": "two.spinney", "columns": ["text", "tag_"]})
    assert both("Ada slept.").has_annotation("ENT_IOB")
