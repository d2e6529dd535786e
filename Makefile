# The only entry: `make help` lists what there is. Each shelf of checks writes its seconds into build/ledger.tsv.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-cluster dev-cluster check fmt unit property sim contract acceptance docs e2e coverage bench clean

BIN := .venv/bin
SHELF := scripts/shelf.sh
INSTALLED := .venv/.installed

# Set order must not decide a result; a test that depends on it fails here and not one day in a thousand.
export PYTHONHASHSEED := 0

# Marked tests that `make test` leaves to others.
PLAIN := -m "not cluster and not crash and not bench"
# For shelves that wait for nothing but the processor.
SPREAD := -n auto
# Coverage adds up over the shelves, child processes included, and is judged at the end.
COVER := --cov --cov-append --cov-report=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## create .venv and install everything (needs only Python >= 3.11)

$(INSTALLED): pyproject.toml scripts/setup.sh
	@scripts/setup.sh

demo: $(INSTALLED) ## label sample posts, show what was found, and serve the console over it (Ctrl-C ends it)
	@$(BIN)/gristmill demo

test: $(INSTALLED) ## everything but crash loops and real servers
	@rm -f build/coverage*
	@$(MAKE) --no-print-directory check unit property sim contract acceptance docs e2e coverage

test-cluster: $(INSTALLED) ## tests marked `crash` (kill loops) and `cluster` (real servers)
	-@scripts/redis.sh
	-@scripts/postgres.sh
	-@scripts/kafka.sh fetch >/dev/null
	@$(SHELF) run crash $(BIN)/python -m pytest -m "crash and not cluster" tests
	@$(SHELF) pytest cluster -m cluster tests

dev-cluster: $(INSTALLED) ## run Redis (or Valkey), Kafka and PostgreSQL on loopback, print the settings; Ctrl-C ends them
	@$(BIN)/python scripts/dev_cluster.py

check: $(INSTALLED) ## style, import contracts, types, tidiness: no test of behaviour
	@$(SHELF) run style bash -c '$(BIN)/ruff check . && $(BIN)/ruff format --check .'
	@$(SHELF) run imports $(BIN)/lint-imports
	@$(SHELF) run types $(BIN)/mypy
	@$(SHELF) run tidy $(BIN)/python -m pytest tests/tidy

fmt: $(INSTALLED) ## put the code into shape and mend what can be mended by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

unit: $(INSTALLED) ## cores and small parts, no IO
	@$(if $(wildcard tests/unit),$(SHELF) run unit $(BIN)/python -m pytest $(SPREAD) $(PLAIN) $(COVER) tests/unit)

property: $(INSTALLED) ## laws that must hold for any input (hypothesis)
	@$(if $(wildcard tests/property),$(SHELF) run property $(BIN)/python -m pytest $(SPREAD) $(PLAIN) $(COVER) tests/property)

sim: $(INSTALLED) ## whole groups in virtual time under faults that a seed draws
	@$(if $(wildcard tests/sim),$(SHELF) run sim $(BIN)/python -m pytest $(PLAIN) $(COVER) tests/sim)

contract: $(INSTALLED) ## one suite per port, over every backend
	@$(if $(wildcard tests/contract),$(SHELF) run contract $(BIN)/python -m pytest $(PLAIN) $(COVER) tests/contract)

acceptance: $(INSTALLED) ## one test per acceptance check of the specification
	@$(if $(wildcard tests/acceptance),$(SHELF) run acceptance $(BIN)/python -m pytest $(PLAIN) $(COVER) tests/acceptance)

docs: $(INSTALLED) ## every snippet of README, docs and examples runs
	@$(if $(wildcard tests/docs),$(SHELF) run docs $(BIN)/python -m pytest $(PLAIN) tests/docs)

e2e: $(INSTALLED) ## real processes on the embedded backend
	@$(if $(wildcard tests/e2e),$(SHELF) run e2e $(BIN)/python -m pytest $(PLAIN) $(COVER) tests/e2e)

coverage: $(INSTALLED) ## judge the branch coverage of the last run: cores 100 %, whole >= 90 %
	@$(if $(wildcard build/coverage),$(SHELF) run coverage scripts/coverage.sh)

bench: $(INSTALLED) ## measure speed and write docs/reports/bench.md; DATE=2026-11-30 and QUICK=1 are optional
	@$(BIN)/python bench/cases/reporting.py --date "$(or $(DATE),$(shell date +%F))" $(if $(QUICK),--quick) \
		--output docs/reports/bench.md

clean: ## remove what can be made again, .venv excepted
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
