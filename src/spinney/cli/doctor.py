"""``spinney doctor``: the parts of this installation, what it can do, and what is wrong with it."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import Any, Final

import spinney
from spinney.cli.running import begin, emit
from spinney.cli.verbs import Call
from spinney.errors import SettingError
from spinney.views import Extra, Facts, Note, View

_PARTS: Final = ("numpy", "scipy", "numba", "scikit-learn", "threadpoolctl", "click", "rich", "google-re2")
#: For each extra, the module that shows that it is installed, and what it is for.
_EXTRAS: Final = {
    "zst": ("zstandard", "files that end in .zst"),
    "plots": ("matplotlib", "figures of models"),
    "parse": ("spacy", "parse trees of raw text with spaCy"),
    "spacy": ("spacy", "components, corpora and tokenisers of spaCy"),
    "topics": ("tomotopy", "topics by Gibbs sampling"),
    "bpe": ("tokenizers", "language models of pieces of words"),
    "tune": ("optuna", "tuning with Optuna"),
    "serve": ("uvicorn", "serving models by HTTP"),
    "gpu": ("torch", "hidden Markov models on a graphics card"),
    "dask": ("distributed", "work on a cluster, and text at any address"),
}
_LITTLE: Final = 500_000_000  # bytes of free space that large texts need


def doctor(call: Call) -> int:
    """Show versions, processors, compiled kernels, extras, folders, and problems with their remedies."""
    begin(call)
    address, path = call.settings.cluster or os.environ.get("SPINNEY_CLUSTER"), call.settings.path
    if path is not None and not address:
        raise SettingError("{path} is read by the workers of a cluster: give {cluster}")
    compiled = None
    if call.settings.compile:
        from spinney.cli.doctor_compile import compile_all

        compiled = compile_all(call.settings.threads, call.settings.seed)
        begin(call)  # the commands in between set output to quiet
    facts: dict[str, Any] = {
        "versions": _versions(),
        "platform": _platform(),
        "processors": _processors(call.settings.threads),
        "cards": _cards(),
        "kernels": _kernels(),
        "extras": _extras(),
        "folders": _folders(),
        "terminal": _terminal(),
    }
    if compiled is not None:
        facts["compiled"] = compiled
    if address:
        from spinney.cluster import reached

        facts["cluster"] = reached(address, path)
    facts["problems"] = _problems(facts)
    emit(call, [Extra(key, "", value) for key, value in facts.items()] + _views(facts))
    return int(any(problem["broken"] for problem in facts["problems"]))


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"spinney": spinney.__version__, "python": platform.python_version()}
    for name in _PARTS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def _platform() -> dict[str, str]:
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "python": sys.executable,
        "spinney": os.path.dirname(spinney.__file__),
    }


def _processors(threads: int | None) -> dict[str, Any]:
    """The number of processors, and how many threads each library would start."""
    try:
        import numba
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info

        from spinney.parallel import default_threads
    except Exception:  # whatever a broken installation raises; the problems name it
        return {"processors": os.cpu_count()}
    return {
        "processors": os.cpu_count(),
        "threads": threads or default_threads(),
        "numba": numba.get_num_threads(),
        "blas": [
            {"library": pool["internal_api"], "version": pool.get("version"), "threads": pool["num_threads"]}
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
    }


def _cards() -> dict[str, Any]:
    """The graphics cards that torch can use, and whether the machine looks as if it had one."""
    try:
        from spinney.classes.card import cards, has_driver

        return {"driver": has_driver(), "cards": cards()}
    except Exception as error:  # as above
        return {"driver": None, "cards": [], "error": " ".join(str(error).split())}


def _kernels() -> dict[str, Any]:
    from spinney.cli.doctor_compile import kernel_cache

    try:
        return kernel_cache()
    except RuntimeError:  # raised by Numba where it finds no writable folder
        what = "neither the package folder nor the user's cache is writable"
        return {"folder": None, "error": what}
    except Exception as error:  # as above
        return {"folder": None, "error": " ".join(str(error).split())}


def _extras() -> dict[str, dict[str, Any]]:
    return {
        extra: {
            "installed": find_spec(module) is not None,
            "for": use,
            "install": f"pip install 'spinney[{extra}]'",
        }
        for extra, (module, use) in _EXTRAS.items()
    }


def _folders() -> dict[str, dict[str, Any]]:
    import tempfile

    return {
        "SPINNEY_DATA": _folder(os.environ.get("SPINNEY_DATA")),
        "NUMBA_CACHE_DIR": _folder(os.environ.get("NUMBA_CACHE_DIR")),
        "TMPDIR": _folder(tempfile.gettempdir()),
    }


def _folder(path: str | None) -> dict[str, Any]:
    import shutil

    exists = path is not None and os.path.isdir(path)
    return {
        "path": path,
        "exists": exists,
        "writable": path is not None and os.access(path, os.W_OK),
        "free_bytes": shutil.disk_usage(path).free if path is not None and exists else None,
    }


def _terminal() -> dict[str, Any]:
    from rich.console import Console

    console = Console()
    encoding = getattr(sys.stdout, "encoding", None) or "none"
    return {
        "terminal": console.is_terminal,
        "colour": console.color_system or "none",
        "width": console.width,
        "encoding": encoding,
        "unicode": encoding.lower().replace("-", "").startswith("utf"),
    }


def _problems(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What is wrong, with a remedy; ``broken`` means that commands fail."""
    found: list[dict[str, Any]] = []

    def add(what: str, remedy: str, broken: bool = False) -> None:
        found.append({"what": what, "remedy": remedy, "broken": broken})

    for name, version in facts["versions"].items():
        least = _required().get(name)
        if version is None:
            add(
                f"{name} is not installed",
                f"pip install '{name}{f'>={least}' if least else ''}'",
                broken=True,
            )
        elif least is not None and _numbers(version) < _numbers(least):
            add(f"{name} {version} is older than {least}", f"pip install '{name}>={least}'", broken=True)
    if (installed := _installed_version()) not in (None, spinney.__version__):
        add(
            f"the source is version {spinney.__version__}, but version {installed} is installed",
            "pip install --editable . (or --upgrade)",
        )
    cards = facts["cards"]
    if "error" in cards and facts["extras"]["gpu"]["installed"]:
        add(f"torch cannot be used: {cards['error']}", "pip install --force-reinstall torch")
    elif cards["driver"] and not cards["cards"] and facts["extras"]["gpu"]["installed"]:
        add("torch finds no graphics card, though a driver is there", "install a build of torch for CUDA")
    kernels = facts["kernels"]
    interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    if "error" in kernels and not interpreted:
        add(f"compiled kernels cannot be cached: {kernels['error']}", _CACHE_REMEDY, broken=True)
    elif not kernels.get("writable", True):
        what = f"kernels cannot be cached in {kernels['folder']}: every run compiles those that are missing"
        add(what, _CACHE_REMEDY)
    for command in facts.get("compiled", {}).get("failed", []):
        add(f"a small fit fails: {command}", "please report it", broken=True)
    if interpreted:
        add("NUMBA_DISABLE_JIT is set, so kernels run as slow, plain Python", "unset NUMBA_DISABLE_JIT")
    for name, folder in facts["folders"].items():
        if folder["path"] is not None and not folder["exists"]:
            add(f"{name}: no such folder: {folder['path']}", f"mkdir -p {folder['path']}, or set {name}")
    temporary = facts["folders"]["TMPDIR"]
    if not temporary["writable"]:
        add(f"temporary files cannot be written to {temporary['path']}", "TMPDIR=/some/folder", broken=True)
    elif (temporary["free_bytes"] or 0) < _LITTLE:
        add(f"only {_size(temporary['free_bytes'])} are free in {temporary['path']}", "TMPDIR=/a/larger/disk")
    for what, remedy in facts.get("cluster", {}).get("problems", []):
        add(what, remedy, broken=True)
    if not facts["terminal"]["unicode"]:
        add(f"the output encoding {facts['terminal']['encoding']} lacks most characters", "PYTHONUTF8=1")
    return found


_CACHE_REMEDY: Final = "NUMBA_CACHE_DIR=$HOME/.cache/spinney, or another writable folder"


def _installed_version() -> str | None:
    try:
        return metadata.version("spinney")
    except metadata.PackageNotFoundError:
        return None


def _required() -> dict[str, str]:
    """The minimum version of each part, from the metadata of the installed package."""
    import re

    try:
        lines = metadata.requires("spinney") or []
    except metadata.PackageNotFoundError:
        return {}
    parsed = (re.match(r"([\w-]+)>=([\d.]+)$", line) for line in lines)
    return {match[1]: match[2] for match in parsed if match}


def _numbers(version: str) -> tuple[int, ...]:
    import re

    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _size(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _views(facts: dict[str, Any]) -> list[View]:
    """The views of the terminal."""
    processors = dict(facts["processors"])
    for pool in processors.pop("blas", []):
        processors[f"{pool['library']} {pool['version'] or ''}".strip()] = f"{pool['threads']} threads"
    shown = {
        "Versions": {name: version or "not installed" for name, version in facts["versions"].items()},
        "Platform": facts["platform"],
        "Processors and threads": processors,
        "Graphics cards": {f"cuda:{i}": name for i, name in enumerate(facts["cards"]["cards"])}
        or {"cards": _no_cards(facts)},
        "Kernels": _kernels_shown(facts["kernels"], facts.get("compiled")),
        "Extras": {
            name: f"{'installed' if extra['installed'] else extra['install']} ({extra['for']})"
            for name, extra in facts["extras"].items()
        },
        "Folders": {name: _folder_shown(folder) for name, folder in facts["folders"].items()},
        "Terminal": {key: facts["terminal"][key] for key in ("colour", "width", "encoding")},
        "Cluster": _cluster_shown(facts.get("cluster")),
        "Problems and remedies": {problem["what"]: problem["remedy"] for problem in facts["problems"]},
    }
    views: list[View] = [Facts("", title, values) for title, values in shown.items() if values]
    return views if facts["problems"] else [*views, Note("No problems found.")]


def _no_cards(facts: dict[str, Any]) -> str:
    return (
        "none"
        if facts["extras"]["gpu"]["installed"] or not facts["cards"]["driver"]
        else "torch is not installed"
    )


def _cluster_shown(cluster: dict[str, Any] | None) -> dict[str, Any]:
    if cluster is None:
        return {}
    shown = {"scheduler": cluster["address"], "dashboard": cluster["dashboard"] or "none"}
    for address, worker in cluster["workers"].items():
        parts = [
            f"spinney {worker.get('spinney') or 'is missing'}, Python {worker.get('python', '?')}",
            f"{worker['threads']} threads",
            f"{_size(worker['used'])} of {_size(worker['memory'])} used"
            if worker["memory"]
            else "memory without limit",
        ]
        if worker.get("path") is not None:
            parts.append("reads the path" if worker["path"] else "cannot read the path")
        shown[f"{worker.get('host', '?')} {address}"] = ", ".join(parts)
    return shown


def _kernels_shown(kernels: dict[str, Any], compiled: dict[str, Any] | None) -> dict[str, Any]:
    if "error" in kernels:
        return {"error": kernels["error"]}
    shown = {
        "cached in": kernels["folder"] + ("" if kernels["writable"] else " (not writable)"),
        "compiled": f"{kernels['compiled']} of {kernels['kernels']} kernels, {_size(kernels['bytes'])}",
    }
    if kernels["stale"]:
        shown["out of date"] = f"{kernels['stale']} (no longer used)"
    if compiled is not None:
        shown["compiled now"] = f"{compiled['kernels']} kernels in {compiled['seconds']:.0f} s"
    return shown


def _folder_shown(folder: dict[str, Any]) -> str:
    if folder["path"] is None:
        return "not set"
    return f"{folder['path']} ({_size(folder['free_bytes']) + ' free' if folder['exists'] else 'does not exist'})"
