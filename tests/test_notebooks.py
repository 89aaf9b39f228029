"""Notebooks in a real kernel: what cells show, and the tour of the documentation from beginning to end."""

import json
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TOUR = Path(__file__).parent.parent / "docs" / "notebooks" / "tour.ipynb"

# One kernel for what only a kernel can show. It loads little, for time.
CELLS = [
    """
from spinney import progress
from spinney.corpus.brackets import Tree
progress._PATIENCE = progress._PAUSE = 0.0
Tree.parse("(S (NN dogs) (VB <b>))")""",
    """
from threading import Thread
with progress.task("fitting", total=2) as task:
    task.update(1)
    other = Thread(target=task.update)
    other.start()
    other.join()""",
]


def _executed(notebook, timeout):
    nbclient.NotebookClient(notebook, timeout=timeout, kernel_name="python3").execute()
    return notebook


def _outputs(cell, kind):
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_a_kernel_shows_trees_and_bars():
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    tree, bar = _executed(nbformat.v4.new_notebook(cells=cells), 120).cells
    (html,) = _outputs(tree, "text/html")
    assert html.startswith('<div class="spinney">')
    assert "&lt;b&gt;" in html
    (trace,) = bar.outputs  # both threads had the same bar
    assert trace.data == {}


def test_the_tour_is_stored_without_outputs():
    tour = nbformat.read(TOUR, 4)
    nbformat.validate(tour)
    code = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert TOUR.read_text() == json.dumps(json.loads(TOUR.read_text()), ensure_ascii=False, indent=1) + "\n"


@pytest.mark.slow
def test_the_tour_runs():
    pytest.importorskip("matplotlib")
    tour = _executed(nbformat.read(TOUR, 4), 600)
    for cell in tour.cells[2:]:
        if cell.cell_type == "code":
            last = cell.source.splitlines()[-1]
            kind = "image/png" if ".plot" in last else "text/html"
            assert _outputs(cell, kind), last
