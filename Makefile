# One set of commands, for people and for CI.

PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
# Each set of documents has a folder of its own, so that another DOCS is another corpus.
DEMO = $(CURDIR)/.kitelift/demo-$(shell printf '%s' '$(DOCS)' | cksum | cut -d' ' -f1)

# HanLP's rules for sentences need neither its models nor torch, which the extra would bring (5 GB).
HANLP = hanlp hanlp-common hanlp-downloader phrasetree termcolor

.PHONY: setup demo check test test-fast test-faults golden bench-chunking clean

setup: .venv/.done

.venv/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps $(HANLP)
	touch $@

# With no configuration at all, the embedded defaults serve: folders, Milvus Lite, a local model.
demo: setup
	mkdir -p '$(DEMO)'
ifdef DOCS
	$(BIN)/kitelift convert '$(DOCS)' --to '$(DEMO)/parsed'
else
	$(BIN)/kitelift convert demo/docs docs --to '$(DEMO)/parsed'
endif
	cd '$(DEMO)' && $(BIN)/kitelift run
	cd '$(DEMO)' && $(BIN)/kitelift search 'How do I find the record that kills every worker?' --mode hybrid --top-k 3
	cd '$(DEMO)' && $(BIN)/kitelift search '升级失败了怎样回滚到旧版本？' --mode hybrid --top-k 3

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
	KITELIFT_UPDATE_GOLDEN=1 $(BIN)/pytest tests/chunking/parsers tests/test_documentation.py -k golden

# Other people's splitters have an environment of their own: no test needs all that they bring.
bench-chunking: .venv-bench/.done
	.venv-bench/bin/python -m tests.benchmarks.chunking

.venv-bench/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf .venv .venv-bench .kitelift build *.egg-info
