"""The page of a server in a browser: a person chooses a model, types, and sees what it makes of the text."""

import threading
import warnings
from contextlib import contextmanager

import pytest
import tiny_models

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

HOSTILE = '</script><img src=x onerror="alert(1)">'
WANTED = {
    "tags": "tagging/Tagger", "sentiment": "classify/LinearClassifier", "next": "lm/BackoffModel",
    "trees": "parsing/Parser", "heads": "parsing/HeadAutomata", "classes": "classes/Clustering",
}  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server of some models, in a thread."""
    from spinney.serve.models import load_models
    from spinney.serve.running import listening, server
    from spinney.settings.serve import Serve

    folder = tmp_path_factory.mktemp("served")
    tiny_models.write_data(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in WANTED.items():
            tiny_models.MODELS[kind][0](folder).save(folder / f"{name}.spinney")
    how = Serve(port=0, threads=1)
    with listening(how) as sock:
        one = server(load_models([str(folder / f"{name}.spinney") for name in WANTED]), how)
        running = threading.Thread(target=one.run, kwargs={"sockets": [sock]})
        running.start()
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/"
        one.should_exit = True
        running.join(timeout=10)


@pytest.fixture
def visited(browser, url):
    """The page; when it is left, it has asked only its own server, and complained of nothing but refusals."""

    @contextmanager
    def call(scheme="light", width=1000):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        yield page
        assert all(one.startswith(url) for one in asked)
        assert [one for one in complaints if "422" not in one] == []
        context.close()

    return call


def show(page, model, text):
    page.get_by_label("Model").select_option(model)
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Show").click()
    page.get_by_text(f"Answer of {model}").wait_for()
    return page.locator("#result")


def test_every_kind_of_result_is_shown(visited):
    with visited() as page:
        text = "the dog sees a rose"
        result = show(page, "tags", text)
        assert result.locator(".token small").all_text_contents() == ["D", "N", "V", "D", "N"]
        assert "probability" in result.locator(".token").first.get_attribute("title")
        result = show(page, "sentiment", text + ". The judge likes a rose.")
        assert result.locator("table.bars tr").count() == 2
        assert result.locator("ol.lines li").count() == 2
        result = show(page, "next", "the dog")
        assert result.locator("p.losses").count() == 2
        assert result.locator("table.bars tr").count() == 10
        result = show(page, "trees", text)
        assert result.locator("figure svg").count() == 2  # the tree, and again where it is explained
        assert show(page, "heads", "the/D dog/N sees/V a/D rose/N").locator(".arc").count() >= 5
        assert show(page, "classes", text).locator(".token").count() == 5
        result.get_by_role("button", name="most similar").click()  # what was added has life, too
        assert result.locator("th[aria-sort]").count() == 1


def test_by_keyboard_alone(visited):
    with visited() as page:
        assert page.evaluate("document.activeElement.id") == "text"
        page.keyboard.type("the cat bites")
        page.keyboard.press("Control+Enter")
        status = page.get_by_role("status")
        page.get_by_text("Answer of tags").wait_for()
        assert status.get_attribute("aria-live") == "polite"
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("ArrowDown")  # another model, which is asked at once
        page.get_by_text("Answer of sentiment").wait_for()
        assert page.locator("#result ol.lines").count() == 1


def test_hostile_text_is_text_and_errors_are_said(visited):
    with visited() as page:
        result = show(page, "tags", f"the {HOSTILE} dog")
        assert "onerror" in result.inner_text()
        assert page.locator("img").count() == 0
        page.get_by_label("Model").select_option("heads")
        page.get_by_text("this parser needs the tag of each word").wait_for()
        assert page.locator("#result").inner_text() == ""
        page.get_by_label("Text", exact=True).fill(" ")
        page.get_by_role("button", name="Show").click()
        page.get_by_text("Type some text first.").wait_for()


def test_pictures(visited, screenshots):
    if screenshots is None:
        pytest.skip("no pictures are wanted")
    texts = dict.fromkeys(WANTED, "the dog sees a rose. The judge likes the cat.")
    texts |= {"heads": "the/D dog/N sees/V a/D rose/N", "next": "the dog"}
    for scheme, width in (("light", 1000), ("dark", 1000), ("light", 390)):
        with visited(scheme, width) as page:
            for model, text in texts.items():
                show(page, model, text)
                page.screenshot(path=screenshots / f"serve-{model}-{scheme}-{width}.png", full_page=True)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (model, width)
