# One set of commands, for people and for CI.

PYTHON ?= python3
BIN := .venv/bin
DOCS ?= demo/docs
DEMO := .kitelift/demo

.PHONY: setup demo check test test-fast test-faults golden bench-chunking clean

setup: .venv/.done

.venv/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/python -m demo.run --docs '$(DOCS)' --work '$(DEMO)'

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup
	$(BIN)/pytest -m 'not faults'

test-fast: setup
	$(BIN)/pytest -m 'not server and not cluster and not faults'

test-faults: setup
	$(BIN)/pytest -m faults

golden: setup
	KITELIFT_GOLDEN=update $(BIN)/pytest tests/chunking/parsers -k golden

bench-chunking: setup
	$(BIN)/python -m tests.benchmarks.chunking

clean:
	rm -rf .venv .kitelift build *.egg-info
