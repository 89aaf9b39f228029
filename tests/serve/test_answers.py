"""What a server answers: the records of ``apply`` for every kind of model, drawn and as JSON."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import spinney
from spinney.cli.main import run
from spinney.serve.openapi import description

TEXT = "the dog sees a rose"
TAGGED = "the/D dog/N sees/V a/D rose/N"
APPLIED = [
    "Tagger", "LinearClassifier", "LinearRegressor", "TreeClassifier", "Clustering", "HiddenMarkov", "Embedding",
    "SpectralHMM", "MomentTopics", "BackoffModel", "LinearMixture", "Parser", "HeadAutomata",
    "TrendModel", "MorphTagger", "RefinementTagger", "TreeCRF", "Pipeline",
]  # fmt: skip
TASK = {"Tagger": "tag", "LinearClassifier": "classify", "Clustering": "classes", "BackoffModel": "lm"}
TASK |= {"Parser": "parse", "Embedding": "embed", "TrendModel": "trend", "Pipeline": "pipeline"}


def text_for(name, text=TEXT):
    return TAGGED if name in ("HeadAutomata", "TreeCRF") else text


@pytest.mark.parametrize("name", TASK)
def test_answers_are_those_of_the_command(client, files, name, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT}\nthe cat bites a judge\n", encoding="utf-8")
    more = ["--format", "lines", "--proba"] if TASK[name] in ("tag", "classify", "pipeline") else []
    more = ["--format", "lines"] if TASK[name] == "trend" else more
    assert run([TASK[name], "apply", files[name], str(path), "--json", "-q", *more]) == 0
    told = json.loads(capsys.readouterr().out)
    by_line = TASK[name] in ("classify", "trend")
    body = (
        {"texts": path.read_text().splitlines()} if by_line else {"text": path.read_text(), "format": "lines"}
    )
    found = client.post(f"/models/{name}/apply", json=body)
    assert found.status_code == 200
    assert found.json() == told


@pytest.mark.parametrize("name", APPLIED)
def test_every_kind_is_applied_and_drawn(client, name):
    found = client.post(f"/models/{name}/apply", json={"text": text_for(name)})
    assert found.status_code == 200, found.text
    (records,) = (value for value in found.json().values() if isinstance(value, list))
    assert len(records) == 1
    drawn = client.post(f"/models/{name}/view", json={"text": text_for(name)})
    assert drawn.status_code == 200, drawn.text
    assert drawn.headers["content-type"].startswith("text/html")
    assert "<" in drawn.text
    assert client.get(f"/models/{name}/inspect").status_code == 200
    assert "<" in client.get(f"/models/{name}/inspect?as=html").text


def test_probabilities_come_by_default_and_settings_replace_them(client):
    ask = lambda name, **more: client.post(f"/models/{name}/apply", json={"text": TEXT, **more}).json()  # noqa: E731
    assert len(ask("Tagger")["sentences"][0]["probabilities"]) == 5
    assert set(ask("LinearClassifier")["predictions"][0]["proba"]) == {"True", "False"}
    assert "proba" not in ask("LinearRegressor")["predictions"][0]
    assert "probabilities" not in ask("Tagger", settings={})["sentences"][0]
    assert len(ask("Tagger", settings={"nbest": 3})["sentences"][0]["nbest"]) == 3


def test_texts_keep_their_numbers(client):
    texts = ["the dog sees a rose. The cat bites.", "the judge likes the cat"]
    records = client.post("/models/Tagger/apply", json={"texts": texts}).json()["sentences"]
    assert [record["text"] for record in records] == [0, 0, 1]
    assert records[2]["columns"] == [texts[1].split()]
    answer = client.post("/models/Tagger/apply", json={"texts": texts}).json()
    assert answer["skipped"] == 0  # facts are there, too


def test_a_pipeline_splits_raw_text_as_its_treebank_does(client):
    texts = ["the dog sees a rose\n\nthe cat bites a judge", "the judge likes the cat"]
    records = client.post("/models/Pipeline/apply", json={"texts": texts}).json()["sentences"]
    assert [record["text"] for record in records] == [0, 0, 1]
    assert records[2]["sentence"] == texts[1]
    assert records[0]["heads"] == [2, 3, 0, 5, 3]
    assert "TagProbability=" in records[0]["misc"][0]
    plain = client.post(
        "/models/Pipeline/apply", json={"text": texts[1], "settings": {"until": "tags"}}
    ).json()
    assert plain["sentences"][0]["upos"] == list("DNVDN")
    assert plain["sentences"][0]["heads"] == []
    long = client.post("/models/Pipeline/apply", json={"tokens": [["dog"] * 1001]})
    assert long.status_code == 422
    assert "may have 1,000" in long.text
    assert client.post("/models/Pipeline/apply", json={"text": " \n"}).status_code == 422
    drawn = client.post("/models/Pipeline/view", json={"text": texts[1]}).text
    assert "arcs" in drawn
    assert "relation" in drawn


def test_tokens_are_not_split(client):
    tokens = [["don't", "split."], ["the", "dog"]]
    records = client.post("/models/Tagger/apply", json={"tokens": tokens}).json()["sentences"]
    assert [record["columns"][0] for record in records] == tokens
    pairs = [[word.split("/") for word in TAGGED.split()]]
    heads = client.post("/models/HeadAutomata/apply", json={"tokens": pairs}).json()["sentences"][0]["heads"]
    assert heads == [2, 3, 0, 5, 3]


def test_next_words_and_neighbours(client, files):
    found = client.get("/models/BackoffModel/inspect", params={"context": "<s> the", "top": 3}).json()
    model = spinney.load(files["BackoffModel"])
    assert [(row["word"], row["probability"]) for row in found["next"]] == model.next_words(
        ["the"], 3, start=True
    )
    for name in ("Clustering", "HiddenMarkov", "Embedding", "WordVectors"):
        near = client.get(f"/models/{name}/neighbours", params={"word": "dog", "top": 2})
        assert near.status_code == 200, near.text
        assert len(near.json()["neighbours"]) in (1, 2)  # by word, or the words
    assert client.get("/models/WordVectors/neighbours", params={"word": "zzz"}).status_code == 422


def test_what_is_drawn(client):
    draw = lambda name, text=TEXT: client.post(f"/models/{name}/view", json={"text": text}).text  # noqa: E731
    assert '<span class="token' in draw("Tagger")
    assert "probability 0.99" in draw("Tagger")
    assert "<svg" in draw("Parser")
    assert "arcs" in draw("HeadAutomata", TAGGED)
    assert "Next after" in draw("BackoffModel")
    assert "perplexity" in draw("BackoffModel")
    assert 'class="lines"' in draw("LinearClassifier")  # sentences that decided
    assert "Similar words" in draw("Embedding")
    hostile = '</script><img src=x onerror="alert(1)">'
    for name in APPLIED:
        if name not in ("HeadAutomata", "TreeCRF"):
            assert "<img" not in draw(name, f"the dog {hostile} sees"), name


def test_explain_is_served_where_a_model_has_it(client, models, monkeypatch):
    from spinney.views import Facts

    assert "explain" not in models["Groups"].can
    assert client.post("/models/Groups/explain", json={"text": TEXT}).status_code == 404
    served = models["LinearClassifier"]
    kind = type(served.model)
    monkeypatch.setattr(
        kind,
        "explain",
        lambda self, data, settings=None, **given: [Facts("facts", "", {"texts": data})],
        raising=False,
    )
    monkeypatch.setitem(served.__dict__, "can", [*served.can, "explain"])
    answer = client.post("/models/LinearClassifier/explain", json={"text": TEXT})
    assert answer.json() == {"texts": [TEXT]}


def test_what_there_is(client, models):
    listed = client.get("/models").json()["models"]
    assert [one["name"] for one in listed] == list(models)
    assert listed[0]["can"][:2] == ["apply", "view"]
    assert "proba" in listed[0]["settings"]
    health = client.get("/health").json()
    assert health["status"] == "ok"
    assert health["load"] == 0


def test_the_description_is_valid(client, models):
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(description({name: models[name] for name in ("Tagger", "Clustering")}))
    told = client.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    settings = told["paths"]["/models/Tagger/apply"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert settings["properties"]["settings"]["properties"]["nbest"]["maximum"] == 100
    for path, verbs in told["paths"].items():  # what is described is there
        for verb in verbs:
            told_by = client.request(verb, path, json={} if verb == "post" else None)
            assert told_by.status_code in (200, 422), path


def test_requests_at_once_are_not_mixed_up(client, files):
    words = ["dog", "cat", "rose", "judge"]
    texts = [f"the {a} sees a {b}" for a in words for b in words if a != b]
    for name in ("Tagger", "LinearClassifier", "BackoffModel", "HiddenMarkov", "Parser"):
        alone = spinney.load(files[name])
        expected = {}
        for text in texts:
            data = [text] if name == "LinearClassifier" else [text.split()]
            proba = {"proba": True} if name in ("Tagger", "LinearClassifier") else {}
            from spinney.views import finite

            expected[text] = finite(list(alone.apply(data, threads=1, **proba)))

        def ask(text, name=name):
            (records,) = (
                v for v in client.post(f"/models/{name}/apply", json={"text": text}).json().values() if v
            )
            return text, records

        with ThreadPoolExecutor(8) as pool:
            for text, records in pool.map(ask, texts * 2):
                assert records == expected[text], (name, text)
