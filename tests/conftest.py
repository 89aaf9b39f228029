"""What tests of several packages use, and the order of the tests."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first example may import or compile, and a machine may be busy: time is no property of these tests.
settings.register_profile("unhurried", deadline=None, max_examples=50)
settings.load_profile("unhurried")

if os.environ.get("SPINNEY_PEERS") == "required":  # a package that is missing is then an error: `make peers`
    pytest.importorskip = lambda name, *_, **__: importlib.import_module(name)


#: For ``make test-all``: long pages, the methods of the studies, real corpora, and what takes seconds on made-up data.
SLOW = (
    "test_page[docs/flows/",
    "test_page[docs/research/",
    "test_page[docs/howto/few-labels]",
    "test_page[docs/howto/report]",
    "test_page[docs/howto/compare]",
    "test_page[docs/howto/smaller]",
    "test_page[docs/howto/scikit-learn]",
    "test_page[docs/coming-from]",
    "tests/replication/",
    "test_pages.py::test_every_kind_of_page",
    "test_brackets.py::test_deep_trees",
    "test_brown.py::test_penn_treebank",
    "test_classify_groups.py::test_families_that_are_learnt",
    "test_classify_groups.py::test_sentence_log_odds",
    "test_classify_groups.py::test_inspect_in_words",
    "test_cleaning.py::test_the_penn_treebank_sample",
    "test_compression.py::test_sums_of_few_outer_products_are_found[8]",
    "test_pitman_yor.py::test_parameters_against_the_integral",
    "test_real_data.py::test_sentiment_trees",
    "test_sentiment.py::test_the_treebank",
    "test_spectral_hmm.py::test_the_error_falls",
    "test_stochastic_coding.py::test_unbiased_steps",
    "test_trace_lasso.py::test_admm_by_default_ends_optimal",
    "test_trace_lasso.py::test_admm_stops_on_its_certificate",
    "test_trace_lasso.py::test_path_starts_empty",
    "test_trend.py::test_state_of_the_union",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pages of the documentation first: each is one long test, and nobody should wait for it at the end."""
    items.sort(key=lambda item: "test_docs" not in item.nodeid)
    for item in items:
        if any(part in item.nodeid for part in SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def data() -> Path:
    """The folder of real corpora, or a skip that says why."""
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    return Path(folder)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Write a file (text as UTF-8, or bytes) and give its path."""

    def write(content: str | bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
