"""What a server refuses, and how: clear statuses, one line each, and nothing of the inside."""

import json
import threading
import time

import httpx
import pytest
from starlette.testclient import TestClient

from spinney.errors import InputError
from spinney.model import Applied, Model
from spinney.serve.application import application
from spinney.serve.models import Served, load_models
from spinney.settings.serve import Serve

SECRET = "a secret of the inside"


def post(client, body, name="Tagger", **more):
    return client.post(f"/models/{name}/apply", json=body, **more)


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"text": 3}, "text", "must be text, not 3"),
        ({"texts": "one"}, "texts", "must be a list of texts"),
        ({"texts": []}, "texts", "must be a list of texts"),
        ({"texts": ["one", None]}, "texts", "must be text"),
        ({"tokens": ["a", "b"]}, "tokens", "must be a list of sentences"),
        ({"tokens": [["a", 1]]}, "tokens", "must be text, not 1"),
        ({"tokens": [["a", ["b"]]]}, "tokens", "all words must be texts"),
        ({"tokens": [["a b"]]}, "tokens", "no spaces"),
        ({"tokens": [[]]}, "tokens", "has no words"),
        ({"text": " \n"}, "text", "has no words"),
        ({"text": "a", "textx": "b"}, "textx", "did you mean text?"),
        ({"text": "a", "tokens": [["a"]]}, None, "give one of text, texts and tokens"),
        ({}, None, "give one of text, texts and tokens, not none"),
        ({"text": "a", "format": "csv"}, "format", "must be prose or lines"),
        ({"tokens": [["a"]], "format": "lines"}, "format", "leave it out"),
        ({"text": "a", "settings": 1}, "settings", "must be an object"),
        ({"text": "a", "settings": {"nbets": 2}}, "nbets", "did you mean nbest?"),
        ({"text": "a", "settings": {"nbest": 0}}, "nbest", "nbest must be at least 1"),
        ({"text": "a", "settings": {"nbest": 5000}}, "nbest", "at most 100"),
        ({"text": "a", "settings": {"nbest": 2, "proba": True}}, None, "leave out proba"),
        ({"text": "a", "settings": {"encoding": "utf-8"}}, "encoding", "there is no setting"),
        ({"text": "a", "settings": {"threads": 99}}, "threads", "there is no setting"),
    ],
)
def test_wrong_fields_are_named(client, body, field, said):
    answer = post(client, body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert answer.json().get("field") == field


def test_files_cannot_be_named_by_requests(client):
    for name, settings in (
        ("Clustering", {"parser": "/etc/passwd"}),
        ("Parser", {"head_rules": "/etc/passwd"}),
    ):
        answer = post(client, {"text": "a", "settings": settings}, name)
        assert answer.status_code == 422
    assert client.get("/models/LinearClassifier/inspect", params={"data": "/etc/passwd"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b'{"text": NaN}', "NaN"),
        (b"[" * 10_000, "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b'{"text": ' + b"1" * 5000 + b"}", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_what_is_not_json(client, body, said):
    answer = client.post("/models/Tagger/apply", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_half_a_surrogate_pair(client):
    body = b'{"text": "a \\ud800 b"}'
    answer = client.post("/models/Tagger/apply", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["field"] == "text"


def test_bodies_that_are_too_large(client):
    assert post(client, {"text": "a " * 20_000}).status_code == 413
    pieces = (b" " * 1000 for _ in range(30))  # without a length
    answer = client.post("/models/Tagger/apply", content=pieces, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "20,000 bytes" in answer.json()["error"]


def test_addresses_methods_and_types(client):
    assert post(client, {"text": "a"}, "None").status_code == 404
    assert "Tagger" in post(client, {"text": "a"}, "None").json()["error"]
    assert client.get("/nothing").status_code == 404
    wrong = client.get("/models/Tagger/apply")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert "error" in wrong.json()
    assert client.options("/models/Tagger/apply").status_code == 405  # no CORS
    plain = client.post(
        "/models/Tagger/apply", content=b'{"text": "a"}', headers={"Content-Type": "text/plain"}
    )
    assert plain.status_code == 415
    assert post(client, {"text": "a"}, "Groups").status_code == 404
    assert client.get("/models/Groups/neighbours?word=a").status_code == 404
    assert client.get("/models/Embedding/neighbours").json()["field"] == "word"
    assert client.get("/models/Tagger/inspect?top=x").json()["field"] == "top"
    assert client.get("/models/Tagger/inspect?as=xml").json()["field"] == "as"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("localhost:8000", 200), ("127.0.0.1:80", 200), ("[::1]:8000", 200), ("[::1]", 200),
        ("evil.example", 421), ("evil.example:8000", 421), ("localhost.evil.example", 421), ("", 421),
    ],
)  # fmt: skip
def test_other_names_are_refused_on_loopback(client, host, status):
    answer = client.get("/health", headers={"Host": host})
    assert answer.status_code == status


def test_other_names_are_served_elsewhere():
    app = application({}, Serve(host="0.0.0.0", threads=1))
    assert TestClient(app, base_url="http://any.example").get("/health").status_code == 200


def test_headers(client):
    for path in ("/", "/health", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert len(headers["x-request-id"]) == 12
        assert "access-control-allow-origin" not in headers
    assert "default-src &#x27;none&#x27;" in client.get("/").text


# ----------------------------------------------------------------------------------------- slow and broken models


class Slow(Model):
    """A model that waits until it is told to go on, or fails."""

    kind = "test/Slow"
    facts = {}  # noqa: RUF012

    def __init__(self):
        self.go, self.begun, self.ended = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)

    def apply(self, data, settings=None, **given):
        if data == [["broken"]]:
            raise RuntimeError(SECRET)

        def records():
            self.begun.release()
            try:
                if data == [["slow"]]:
                    self.go.wait(20)
                for _ in range(2000 if data == [["many"]] else 1):
                    yield {"words": data[0]}
                    time.sleep(0.005 if data == [["many"]] else 0)
            finally:
                self.ended.release()

        return Applied("sentences", records(), str)


@pytest.fixture
def slow():
    model = Slow()
    how = Serve(timeout=0.25, threads=1, queue=1)
    yield model, TestClient(application({"slow": Served("slow", model)}, how), base_url="http://localhost")
    model.go.set()


def test_a_request_that_takes_too_long_ends_and_its_thread_comes_back(slow):
    model, client = slow
    answer = post(client, {"text": "slow"}, "slow")
    assert answer.status_code == 504
    assert "0.25 seconds" in answer.json()["error"]
    assert client.get("/health").json()["load"] == 1  # the thread still works
    assert post(client, {"text": "quick"}, "slow").status_code == 504  # waits for the thread, and is dropped
    assert client.get("/health").json()["load"] == 1
    model.go.set()
    assert model.ended.acquire(timeout=5)
    assert post(client, {"text": "quick"}, "slow").status_code == 200
    assert client.get("/health").json()["load"] == 0


def test_a_computation_that_nobody_waits_for_stops_between_records(slow):
    model, client = slow
    assert post(client, {"text": "many"}, "slow").status_code == 504
    assert model.ended.acquire(timeout=5)  # all of it would take ten seconds


def test_a_full_queue_is_said(slow):
    _, client = slow
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(post(client, {"text": "slow"}, "slow").status_code))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 5
    while client.get("/health").json()["load"] < 2 and time.monotonic() < end:
        time.sleep(0.005)
    answer = post(client, {"text": "quick"}, "slow")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    for thread in threads:
        thread.join()
    assert statuses == [504, 504]


def test_what_was_begun_is_ended_before_the_server_stops():
    uvicorn = pytest.importorskip("uvicorn")
    assert uvicorn
    from spinney.serve.running import listening, server

    model, how, answers = Slow(), Serve(timeout=10, threads=1, port=0), []
    with listening(how) as sock:
        one, url = server({"slow": Served("slow", model)}, how), f"http://127.0.0.1:{sock.getsockname()[1]}"
        running = threading.Thread(target=one.run, kwargs={"sockets": [sock]})
        running.start()
        asking = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{url}/models/slow/apply", json={"text": "slow"}))
        )
        asking.start()
        assert model.begun.acquire(timeout=5)
        one.should_exit = True
        time.sleep(0.2)
        assert running.is_alive()
        model.go.set()
        running.join(timeout=5)
        asking.join(timeout=5)
    assert not running.is_alive()
    assert [answer.status_code for answer in answers] == [200]


def test_errors_of_ours_show_a_number_only(slow, caplog):
    _, client = slow
    answer = post(client, {"text": "broken"}, "slow")
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error", "request": answer.headers["x-request-id"]}
    assert SECRET not in json.dumps(dict(answer.headers)) + answer.text
    assert answer.json()["request"] in caplog.text
    assert SECRET in caplog.text


def test_long_sentences_are_refused(slow):
    _, client = slow
    answer = post(client, {"text": "a " * 10_001, "format": "lines"}, "slow")
    assert answer.status_code == 422
    assert "10,001 words" in answer.json()["error"]


def test_answers_that_are_too_large(slow, monkeypatch):
    monkeypatch.setattr("spinney.serve.models.MOST", 10)
    assert post(slow[1], {"text": "quick"}, "slow").status_code == 413


def test_two_models_of_one_name(files, tmp_path):
    import shutil

    other = tmp_path / "Groups.spinney"
    shutil.copy(files["Groups"], other)
    with pytest.raises(InputError, match="rename one of the files"):
        load_models([files["Groups"], str(other)])


def test_models_that_need_more_than_text(tmp_path):
    from spinney.classify.recipes import fit
    from spinney.trend.recipes import fit as fit_trend

    rows = [("good fun", "p"), ("dull film", "n"), ("great fun", "p"), ("so dull", "n")] * 3
    lines = [f"{text},{label},{2000 + i % 3},{'ab'[i % 2]}" for i, (text, label) in enumerate(rows)]
    table, numbers = tmp_path / "a.csv", tmp_path / "a.svm"
    table.write_text("\n".join(["text,label,time,kind", *lines]) + "\n")
    numbers.write_text("".join(f"{i % 2} 1:{i} 2:{i % 3 + 1}\n" for i in range(12)))
    how = {"penalty": "l2", "lam": 1.0}
    fit(str(table), loss="squared-hinge", min_count=1, **how).save(tmp_path / "hinge.spinney")
    fit(str(numbers), format="svmlight", **how).save(tmp_path / "numbers.spinney")
    trend = {"method": "ridge-ts", "lam": 0.1, "min_count": 1, "covariates": ["kind"]}
    fit_trend(str(table), **trend).save(tmp_path / "trend.spinney")
    models = load_models([str(path) for path in sorted(tmp_path.glob("*.spinney"))])
    client = TestClient(application(models), base_url="http://localhost")
    assert post(client, {"text": "fun"}, "hinge").json()["predictions"] == [{"id": "1", "label": "p"}]
    assert "fitted to numbers" in post(client, {"text": "fun"}, "numbers").json()["error"]
    assert "kind of each document" in post(client, {"text": "fun"}, "trend").json()["error"]
