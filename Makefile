# Everything runs in .venv, made from pyproject.toml and constraints.txt by plain pip (or uv, where it is found).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: demo test test-slow lint docs wheel papers certify bench system-deps lock clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras: `make demo` installs only what a user would.
$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable . --constraint constraints.txt
	@touch $@
$(VENV)/.%: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[$*]" --constraint constraints.txt
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/tacit demo --output demo-output

# `make test ONLY=linear` runs the tests whose file, class or name says so. Each process gets half of the tests in their
# order, and takes from the other when it has done them: tests of one file share what is compiled.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(if $(ONLY),-k "$(ONLY)")

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check src tests benchmarks papers
	$(BIN)/ruff format --check src tests benchmarks papers
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: | $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# Every script of papers/ with few repetitions, about a minute each: does it run? `make papers DATA=FOLDER` also draws the
# figures that need the tables of `papers/fetch.py`. docs/papers.md has the full runs and their commands.
PAPERS := bernstein2019 kulkarni2021 kulkarni2022 jewson2023 geumlek2017
papers: $(VENV)/.core
	rm -rf papers-output
	for paper in $(PAPERS); do \
	  echo "== $$paper" && $(BIN)/python papers/$$paper.py --quick --processes 2 --out papers-output $(if $(DATA),--data $(DATA)) || exit 1; \
	done

# Hours; goes on where it was stopped. A short version is part of `make test`.
certify: $(VENV)/.core
	$(BIN)/python -m tacit.certificates --out docs/certificates

# Peers need other versions of some packages, hence an environment of their own. About two and a half hours, on a
# machine that does nothing else; `make bench ONLY="local rows"` for some tables, `make bench QUICK=1` to see that every row works.
BENCH := .venv-bench
$(BENCH)/.peers: benchmarks/requirements.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements.txt
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

bench: $(BENCH)/.peers
	$(BENCH)/bin/python benchmarks/run.py $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

# Debian packages for the tests of the survey page and its client and for those of Spark, which are skipped without.
system-deps:
	apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver nodejs \
	  openjdk-17-jre-headless r-base-core r-cran-jsonlite r-cran-ncdf4

# Needs uv: resolves every extra for Python 3.11 to 3.13 at once, and writes the hashes of what tacit itself needs.
LOCK := --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate --quiet
lock:
	uv pip compile pyproject.toml $(LOCK) --all-extras --upgrade --output-file constraints.txt
	uv pip compile pyproject.toml $(LOCK) --constraint constraints.txt --generate-hashes --output-file constraints-hashes.txt

clean:
	rm -rf $(VENV) $(BENCH) build dist site demo-output papers-output
