"""Tiny models of each kind behind a client that needs no network."""

import warnings

import pytest
import tiny_models

pytest.importorskip("starlette")
pytest.importorskip("httpx")

#: All kinds but language models that differ only inside.
KINDS = [
    kind
    for kind in tiny_models.MODELS
    if not kind.startswith("lm/") or kind in ("lm/BackoffModel", "lm/LinearMixture")
]


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A model file of each kind, named by its kind: ``Tagger.spinney``."""
    folder = tmp_path_factory.mktemp("served")
    tiny_models.write_data(folder)
    paths = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            name = kind.partition("/")[2]
            path = folder / f"{name}.spinney"
            tiny_models.MODELS[kind][0](folder).save(path)
            paths[name] = str(path)
    return paths


@pytest.fixture(scope="session")
def models(files):
    from spinney.serve.models import load_models

    return load_models(list(files.values()))


@pytest.fixture(scope="session")
def client(models):
    from starlette.testclient import TestClient

    from spinney.serve.application import application
    from spinney.settings.serve import Serve

    return TestClient(application(models, Serve(max_body="20k", threads=2)), base_url="http://localhost")
