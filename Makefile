# make demo    a tour of what Spinney does          make test   the test suite
# Both create .venv and install what they need; nothing but Python 3.11+ is assumed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Real corpora, where they are: tests that need them skip without.
ifneq ($(wildcard ../shared/data),)
export SPINNEY_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo compile test test-all fuzz kill coverage peers browser lint audit bench docs dist smoke clean

demo: $(VENV)/.installed
	$(BIN)/spinney demo

compile: $(VENV)/.installed  # all kernels, on all processors: later commands and tests find them
	$(BIN)/spinney doctor --compile

test: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

MINUTES ?= 20
fuzz: $(VENV)/.installed-dev  # bad files, damaged models and absurd command lines, for MINUTES minutes
	$(BIN)/spinney doctor --compile --quiet > /dev/null
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/fuzz --minutes $(MINUTES)

kill: $(VENV)/.installed-dev  # fits stopped at random moments, full disks, little memory (a quarter of an hour)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/fuzz/interruptions.py

coverage: $(VENV)/.installed-dev  # the tests, then the share of lines and branches that they reach, by file
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not slow" --cov --cov-report=term

peers: $(VENV)/.installed-peers  # all tests that need another package, which must be there
	SPINNEY_PEERS=required OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal $$(grep -rl importorskip tests --include='test_*.py')

browser: $(VENV)/.installed-dev  # report pages in a real browser, which must be there
	SPINNEY_BROWSER=required OPENBLAS_NUM_THREADS=1 $(BIN)/pytest tests/browser

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(VENV)/bin/python  # known vulnerabilities of what a user installs; asks the package index
	$(PYTHON) -m venv $(VENV)/audited
	$(VENV)/audited/bin/python -m pip install --quiet --disable-pip-version-check .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --path "$$(echo $(VENV)/audited/lib/python*/site-packages)"

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks all

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# The wheel in an empty environment, tried from a folder that knows nothing of this one.
smoke: dist
	set -e; away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; cp -r tests/smoke dist/*.whl "$$away"; cd "$$away"; \
	$(PYTHON) -m venv venv; venv/bin/python -m pip install --quiet --disable-pip-version-check ./*.whl pytest; \
	OPENBLAS_NUM_THREADS=1 venv/bin/python -m pytest -q -p no:cacheprovider smoke

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Spinney needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-peers: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,peers]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-dev

$(VENV)/.installed-bench: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-dev

$(VENV)/.installed-docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	touch $@ $(VENV)/.installed $(VENV)/.installed-dev

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
