# Two commands: `make run` opens the app, `make test` checks everything. Both set up .venv on the first call.
PYTHON ?= python3
BIN := .venv/bin
JOBS := whole_process all_targets million learning_curve scaling on_a_gpu

.PHONY: run test verify bench setup lint clean

run: .venv/installed
	$(BIN)/hadamard-tui --preset hadamard-128 --run

test: .venv/installed-test lint
	$(BIN)/python -m pytest

verify: .venv/installed
	$(BIN)/hadamard-tui verify

bench: .venv/installed-bench
	for job in $(JOBS); do $(BIN)/python benchmarks/$$job.py || exit 1; done

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/installed

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hadamard-tui needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/installed-test: pyproject.toml constraints.txt | .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

.venv/installed-bench: pyproject.toml constraints.txt | .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

clean:
	rm -rf .venv
