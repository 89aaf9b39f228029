"""A real browser for report pages. Without Playwright or Chromium these tests skip, unless a browser is required."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def _lacking(what):
    """Skip; ``make browser`` sets SPINNEY_BROWSER=required, and then it is a failure."""
    if os.environ.get("SPINNEY_BROWSER") == "required":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        _lacking("Playwright is not installed: pip install 'spinney[browser]'")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found or not shutil.which(found):
        _lacking(f"no Chromium: install one of {', '.join(NAMES)}, or name it in $CHROMIUM")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        except Error as error:  # a sandbox, or a library that it lacks
            _lacking(f"{found} does not start: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="session")
def screenshots():
    """Where to leave pictures of the pages: $SPINNEY_SCREENSHOTS, or a folder here if a browser is required.

    None otherwise, for pictures take longer than all the rest.
    """
    named, required = os.environ.get("SPINNEY_SCREENSHOTS"), os.environ.get("SPINNEY_BROWSER") == "required"
    if not named and not required:
        return None
    folder = Path(named or Path(__file__).parent / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def opened(browser, tmp_path):
    """Open the text of a page in a browser; when it is left, it has asked for nothing, and complained of nothing."""

    @contextmanager
    def call(text, scheme="light", width=1280, touch=False):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=touch
        )
        page = context.new_page()
        asked, complaints = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        yield page
        assert asked == [path.as_uri()]
        assert complaints == []
        context.close()

    return call
