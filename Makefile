# `make demo` and `make test` need only make and Python 3.11 or newer; everything else goes into .venv.

VENV := .venv
BIN := $(VENV)/bin
BENCHMARKS ?= $(sort $(filter-out _%,$(basename $(notdir $(wildcard experiments/benchmarks/*.py)))))
REPEAT ?= 3

# One cache of compiled kernels for all test processes and later runs.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba_cache
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-warm test-nojit lint bench clean

help:
	@echo "make demo    read handwritten dates with three models; table and figure (in demo-output/)"
	@echo "make test    the test suite, then every kernel without compilation, its accesses to arrays checked"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make bench   the benchmarks against other libraries (BENCHMARKS=\"name ...\", REPEAT=n)"
	@echo "make clean   remove .venv, caches and the demo's output"

demo: $(VENV)/.test
	$(BIN)/palmette demo

# First the kernels are compiled, each by one of two processes, so that the tests find them in the cache.
# Then each process takes the tests of one half, so that few fixtures, and kernels that only tests need, are made by both.
# Then two runs at once: one compares processes bit by bit, with kernels that the first has compiled. The other takes the
# kernels as plain Python, which checks every index; it keeps files together, since one of them counts which kernels ran.
test: $(VENV)/.test
	$(BIN)/palmette warmup --all
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not warm"
	@$(MAKE) --no-print-directory --jobs=2 test-warm test-nojit

test-warm:
	$(BIN)/python -m pytest -q -m warm tests/executors

test-nojit:
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m nojit tests/_kernels tests/structures

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/palmette bench --repeat $(REPEAT) $(BENCHMARKS)

clean:
	rm -rf $(VENV) .numba_cache .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache demo-output

# The stamps say which extra is installed; a change of the dependencies or of the version installs anew.
INSTALL = $(BIN)/python -m pip install --quiet --editable

$(VENV)/.test: pyproject.toml src/palmette/__init__.py | $(BIN)/python
	@echo "installing palmette and its test tools into $(VENV) (a minute or two the first time)"
	@$(INSTALL) ".[test]"
	@touch $@

$(VENV)/.dev: pyproject.toml src/palmette/__init__.py | $(BIN)/python
	@echo "installing palmette and its development tools into $(VENV)"
	@$(INSTALL) ".[dev]"
	@touch $@ $(VENV)/.test

# PYTHON=... chooses the interpreter; otherwise the first on the path that is new enough.
# An unfinished environment is removed, so that the next call starts afresh.
$(BIN)/python:
	@found=; for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "palmette needs Python 3.11 or newer, but $(or $(PYTHON),python3) is" \
	    "$$($(or $(PYTHON),python3) --version 2>/dev/null || echo missing)." \
	    "Install a newer one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$found lacks the modules venv and ensurepip, with which $(VENV) is made." \
	    "Install them (Debian, Ubuntu: apt install python3-venv; others: the full Python package) and try again." >&2; \
	  exit 1; \
	fi; \
	echo "creating $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
