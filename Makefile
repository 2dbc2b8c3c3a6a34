# Needs make and Python 3.10 or newer with its venv module. Every target sets up what it needs in $(VENV).
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Large, and bound to each other; they move only when moved here.
TORCH := torch==2.14.1 torchvision==0.29.1

.DEFAULT_GOAL := help
.PHONY: help venv demo test java r browser screenshots lint bench constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/dev.stamp ## set up .venv with fmfair and everything that tests and lint need

demo: $(VENV)/core.stamp ## evaluate real chest X-ray labels and a prostate cancer score by group, as text, Parquet and HTML
	$(BIN)/python examples/demo.py

test: $(VENV)/dev.stamp java r browser ## run all tests and the examples in the docstrings; ARGS=--hypothesis-profile=thorough tries ten times as many random tables
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

java: ## install a Java for the tests on Spark, where there is none and Debian's packages may be installed
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && apt-get install -q -y --no-install-recommends default-jre-headless; } \
	  || echo "no Java: the tests in tests/test_spark.py are left out; install Java 17 or newer to run them"

r: ## install R and pROC for the tests beside them, where there are none and Debian's packages may be installed
	@Rscript -e 'loadNamespace("pROC")' >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -q && apt-get install -q -y --no-install-recommends r-base-core r-cran-proc; } \
	  || echo "no R with pROC: the tests in tests/test_proc.py are left out; install both to run them"

browser: ## install Chromium for the tests of the HTML report, where there is none and Debian's packages may be installed
	@{ command -v chromium chromium-browser google-chrome && command -v pdftotext; } >/dev/null || { [ "$$(id -u)" = 0 ] \
	  && command -v apt-get >/dev/null && apt-get update -q \
	  && apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core poppler-utils; } \
	  || echo "no Chromium and Poppler: the tests in tests/test_page_browser.py are left out; install both to run them"

screenshots: $(VENV)/dev.stamp browser ## photograph the demo's report anew for the README
	$(BIN)/python examples/screenshots.py

lint: $(VENV)/dev.stamp ## check style, format, types, the direction of imports, and SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache pyproject.toml
	$(BIN)/sqlfluff lint sql

bench: $(VENV)/dev.stamp ## measure time and memory beside other packages and floors (several minutes)
	$(BIN)/python -m benchmarks $(or $(ARGS),--refresh)

constraints: ## resolve the development environment anew and pin it in constraints.txt
	set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(PYTHON) -m venv "$$tmp/venv"; \
	"$$tmp/venv/bin/python" -m pip --disable-pip-version-check install -q --editable '.[dev]' $(TORCH); \
	"$$tmp/venv/bin/python" .ci/pins.py > "$$tmp/constraints.txt"; \
	cp "$$tmp/constraints.txt" constraints.txt

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build dist *.egg-info results .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A stamp is written only after an install that succeeded, and is old when what was asked for has changed.
$(VENV)/core.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --editable '.[report]' --constraint constraints.txt
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --editable '.[dev]' --constraint constraints.txt
	touch $@ $(VENV)/core.stamp
