"""Imports go downward only, tasks do not import each other, and the front door opens quickly."""

import ast
import subprocess
import sys
from pathlib import Path

import spinney

ROOT = Path(spinney.__file__).parent
# From the top down; packages on one line do not import each other.
LAYERS = [
    {"cli"},
    {"serve"},
    {"report", "spacy_components"},
    {"spacy_pipelines"},
    {"spacy_models"},
    {"pipeline"},  # binds a tagger and a parser
    {"tagging", "classify", "trend", "lm", "parsing"},
    {"classes", "embed"},  # they learn structure that the tasks above use
    {"taxonomy"},
    {"evaluate"},
    {"structure"},
    {"inference"},
    {"optim"},
    {"corpus"},
    {"linalg"},
    {"_linalg_kernels"},
    {"cluster"},
    {"parallel"},
    {"model"},
    {"kinds"},
    {"compiling"},
    {"kernel_cache"},
    {"files", "progress"},
    {"settings", "views", "mapped"},
    {"estimator", "formats", "memory", "checking", "notebook_bars", "front_coding", "shared_files"},
    {"beside"},
    {"errors", "escaping", "importing", "interrupts"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def _imports(path: Path) -> set[str]:
    """The Spinney packages that a file imports at run time (not for types alone)."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "spinney":
            assert node.level == 0
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("spinney.")}
    return found


def test_imports_go_downward():
    wrong = []
    for path in ROOT.rglob("*.py"):
        package = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if package in ("__init__", "__main__"):
            continue
        assert package in LEVEL, f"{package} has no place in the layers"
        for imported in _imports(path) - {package, "__version__"}:
            if LEVEL[imported] <= LEVEL[package]:
                wrong.append(f"{path.relative_to(ROOT)} imports {imported}")
    assert wrong == []


def test_kernel_modules_hold_kernels_only():
    for path in ROOT.rglob("*_kernels.py"):
        assert path.read_text().startswith("# mypy: ignore-errors\n"), path
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                assert any("njit" in ast.unparse(decorator) for decorator in node.decorator_list), (
                    path,
                    node.name,
                )
        assert "import njit" not in (text := path.read_text()) or "spinney.compiling import njit" in text, (
            path
        )


def test_the_command_line_loads_nothing_heavy():
    heavy = "('numba', 'scipy', 'sklearn', 'numpy')"
    code = f"import sys, spinney.cli.main; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_packages_that_import_on_use():
    code = (
        "import sys, spinney.lm, spinney.embed; "
        "print([m for m in ('numba', 'scipy', 'sklearn') if m in sys.modules]); "
        "print(all(hasattr(p, name) for p in (spinney.lm, spinney.embed) for name in p.__all__))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["[]", "True"]
    for package in (spinney.lm, spinney.embed):
        lazy = {name for names in package._EXPORTS.values() for name in names}
        modules = {path.stem for path in Path(package.__file__).parent.glob("*.py")}
        assert lazy <= set(package.__all__)
        assert not lazy & modules, "a module that is imported would hide the name"


def test_a_tagger_needs_neither_scikit_learn_nor_solvers():
    code = (
        "import sys, spinney.tagging; "
        "print([m for m in ('numba', 'sklearn', 'scipy.linalg', 'scipy.sparse', 'scipy.optimize') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_packages_are_there_once_spinney_is_imported():
    code = (
        "import sys, spinney; print('numpy' in sys.modules); "
        "print(all(hasattr(getattr(spinney, name), '__path__') for name in spinney._PACKAGES)); "
        "print(spinney.tagging.fit.__name__, 'lm' in dir(spinney), hasattr(spinney, 'nothing'))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "True", "fit", "True", "False"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - set(spinney._PACKAGES) <= {"cli", "settings"}
