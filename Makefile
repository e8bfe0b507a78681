# Everything that is done to this project, by name. `make` alone says what there is.
#
#   make test PYTHON=python3.13 VENV=.venv-3.13     with another Python, beside the first
#   make test TESTS=tests/manager ARGS='-k events'  a part of the tests

PYTHON ?= python3
VENV ?= .venv
TESTS ?= tests
ARGS ?=
# Tests wait more than they work (for servers, Leases, watches), so there are more workers than cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1) + 1)')
UV ?= uv

BIN := $(VENV)/bin
READY := $(VENV)/.ready
# A worker that has nothing left takes over what waits for another: the longest tests stand side by side.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup check format test fast bench crds chart docs facts up lock realserver programs clean
.DELETE_ON_ERROR:

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make the virtual environment from requirements.lock (once, until the lock changes)

# The last line makes the stamp, so a setup that was cut short is done again. Without ensurepip (Debian's bare python3) the pip of
# $(PYTHON) installs into the environment from outside. Hashes are checked for everything that is downloaded; the project itself is
# built by the hatchling of the lock, hence no isolation and no second download.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.13" >&2; exit 1; }
	@echo "setup: installing requirements.lock into $(VENV) with $$($(PYTHON) --version), about a minute"
	@set -e; \
	if $(PYTHON) -c 'import ensurepip' 2>/dev/null; then \
	  $(PYTHON) -m venv $(VENV); pip="$(BIN)/python -m pip"; \
	else \
	  $(PYTHON) -m venv --without-pip $(VENV); pip="$(PYTHON) -m pip --python $(BIN)/python"; \
	fi; \
	export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1; \
	$$pip install --quiet --require-hashes --no-deps -r requirements.lock; \
	$$pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

check: $(READY) ## Formatting, lint, types and layers; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code and repair what ruff can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(READY) programs ## All tests, those on a real control plane and the slow ones too
	$(PYTEST) $(ARGS) $(TESTS)

fast: $(READY) ## The tests that need neither a control plane nor patience
	$(PYTEST) -m "not real and not slow" $(ARGS) $(TESTS)

bench: $(READY) ## Measure, and print what was measured
	$(BIN)/python -m bench $(ARGS)

# `copyhold crds` writes one stream; a file per kind reads better in a diff. Written only when the whole stream is there.
crds: $(READY) ## Write deploy/crds from the models
	@set -e; mkdir -p deploy/crds; new=$$(mktemp -d deploy/crds/.new-XXXXXX); trap 'rm -rf "$$new"' EXIT; \
	$(BIN)/copyhold crds > "$$new/all"; \
	awk -v dir="$$new" ' \
	  function flush() { if (name != "") { printf "%s", text > (dir "/" name ".yaml"); close(dir "/" name ".yaml") } text = name = "" } \
	  /^---/ { flush(); next } \
	  /^  name: / && name == "" { plural = $$2; sub(/\..*/, "", plural); name = substr($$2, length(plural) + 2) "_" plural } \
	  { text = text $$0 "\n" } \
	  END { flush() }' "$$new/all"; \
	ls "$$new"/*.yaml >/dev/null; rm -f deploy/crds/*_*.yaml; mv "$$new"/*.yaml deploy/crds/; ls deploy/crds

# A chart reads no file outside its own folder, so it has copies of what deploy/manager and deploy/crds hold.
chart: ## Take deploy/crds and deploy/manager into the Helm chart
	rm -rf deploy/chart/files
	mkdir -p deploy/chart/files/manager
	cp -R deploy/crds deploy/chart/files/crds
	cp deploy/manager/*.yaml deploy/chart/files/manager/
	rm deploy/chart/files/manager/kustomization.yaml deploy/chart/files/manager/namespace.yaml

docs: $(READY) ## Write docs/reference.md from the models
	$(BIN)/python -c 'from apis.kind import kinds; from apis.reference import reference; print(reference(kinds()), end="")' \
	  > docs/.reference && mv docs/.reference docs/reference.md

facts: $(READY) ## Take what the embedded cluster knows of built-in kinds from a real control plane, anew
	$(BIN)/python -m tests.realserver.facts
	$(BIN)/python -m tests.realserver.gotypes
	$(BIN)/python -m tests.realserver.wire

up: $(READY) ## An embedded cluster and the manager in the foreground, with an example loaded
	@$(BIN)/copyhold up --load examples/quota $(ARGS)

lock: ## Resolve the dependencies of pyproject.toml anew (needs uv)
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --extra dev pyproject.toml -o requirements.lock

realserver: $(READY) ## A real control plane in the foreground, to try things by hand
	$(BIN)/python -m tests.realserver

# Built before pytest starts, so that six minutes of building are seen and no test waits for them. Where they cannot be had, the
# tests that need them are skipped; with CI set that is a failure.
programs: $(READY)
	@$(BIN)/python -m tests.realserver.assets >/dev/null || test -z "$$CI"
	@$(BIN)/python -m tests.helm.assets >/dev/null || test -z "$$CI"
	@$(BIN)/python -m tests.gotemplate.assets >/dev/null || test -z "$$CI"

clean: ## Remove the virtual environments, caches and build output
	rm -rf .venv .venv-* $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
