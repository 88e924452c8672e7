# `make run` opens the app. `make test` takes minutes and is run while working; `make test-slow` checks the rest.
# All set up .venv on the first call. Where tests cross many factors, both take cases in which every two values
# meet, and `make test-all` takes all cases.
PYTHON ?= python3
BIN := .venv/bin
TORCH := torch==2.13.0
INSTALL := $(BIN)/python -m pip install --quiet --require-hashes
JOBS := whole_process tui all_targets million own_matrix learning_curve probes_of_nets on_a_gpu

# Every process that the tests start would compile all of the program anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-slow test-all verify bench soak fuzz update judgements docs setup lint lock clean

run: .venv/installed
	$(BIN)/hadamard-tui --preset hadamard-128 --run

test: .venv/installed-test lint
	$(BIN)/python -m pytest -m "not slow"

# The wheel, Chromium, kills, random experiments, a third of the presets and an eighth of the breaks of talks
# (others with each commit), and all tests that take long.
test-slow: .venv/installed-test
	$(BIN)/python -m pytest -m slow

test-all: .venv/installed-test lint
	$(BIN)/python -m pytest --whole

verify: .venv/installed
	$(BIN)/hadamard-tui verify
	$(BIN)/python tests/reference/digest.py

bench: .venv/installed-bench
	for job in $(JOBS); do $(BIN)/python benchmarks/$$job.py || exit 1; done
	$(BIN)/python benchmarks/scaling.py --picture docs/explanation/performance-cost.svg
	$(BIN)/python benchmarks/memory.py --picture docs/explanation/performance-memory.svg

# About half an hour of random keys, presets, kills and runs; HOURS=2 sets how long the runs go on.
soak: .venv/installed-test
	$(BIN)/python -m tests.soak $(if $(HOURS),--hours $(HOURS))

# Random experiments against lines, verdicts and backends: SECONDS=600 SEED=1. Findings go to fuzz-findings/.
fuzz: .venv/installed-test
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)

# All files that are made from the code and the presets: tables of parts, sentences, the picture of the app, charts and
# digests of presets, runs on the theory pages, and snapshots. It changes only files whose content changed, and
# overwrites no digest.
# PRESETS="rank-64 eg-128" draws the charts of these anew. It goes on where Ctrl-C stopped it.
update: .venv/installed-test
	$(BIN)/python docs/parts.py
	$(BIN)/python tests/names.py
	$(BIN)/python docs/capture.py
	$(BIN)/python docs/gallery.py $(PRESETS)
	$(BIN)/python docs/headlines.py
	$(BIN)/python docs/theory_runs.py
	$(BIN)/python tests/reference/digest.py --missing
	$(BIN)/python -m pytest -q --snapshot-update tests/app/test_snapshots.py

# The table of all update rules, ours and those of libraries, in docs/reference/judgements.md: about 20 minutes for
# all rows. It computes the missing rows of docs/judgements.json only, and goes on where Ctrl-C stopped it.
judgements: .venv/installed-test
	$(BIN)/python docs/judgements.py

# The site of all pages, in build/site, with a search that works where a server shows it, as
# `python -m http.server --directory build/site`. It fails on any warning, such as a broken link, and if a page loads
# anything from another site.
docs: .venv/installed-docs
	rm -rf build/pages build/site
	mkdir -p build/pages
	tar -c --exclude=__pycache__ --exclude='*.py' --exclude='*.json' --exclude='*.toml' --exclude=constraints.txt \
	    README.md CONTRIBUTING.md CHANGELOG.md CITATION.cff docs | tar -x -C build/pages
	$(BIN)/python docs/messages.py > build/pages/docs/reference/messages.md
	cp docs/zensical.toml build
	$(BIN)/zensical build --strict --clean --config-file build/zensical.toml
	! grep -rE '<(script|link|img|iframe)[^>]*(src|href)="(https?:)?//' build/site --include='*.html'

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/installed

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hadamard-tui needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

# torch has no hash, as any build of its version will do; what every build needs is there before it comes.
.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) -r constraints.txt
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $@

.venv/installed-test: tests/constraints.txt | .venv/installed
	$(INSTALL) -r tests/constraints.txt
	touch $@

.venv/installed-bench: benchmarks/constraints.txt | .venv/installed
	$(INSTALL) -r benchmarks/constraints.txt
	touch $@

.venv/installed-docs: docs/constraints.txt | .venv/installed
	$(INSTALL) -r docs/constraints.txt
	touch $@

# Needs uv. Versions stay while they fit pyproject.toml; without the four files all are the newest.
lock:
	uv pip compile --quiet pyproject.toml --group build -o constraints.txt
	uv pip compile --quiet --group test -c constraints.txt -o tests/constraints.txt
	uv pip compile --quiet --group bench -c constraints.txt -o benchmarks/constraints.txt
	uv pip compile --quiet --group docs -c constraints.txt -c tests/constraints.txt -o docs/constraints.txt

clean:
	rm -rf .venv
