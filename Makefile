# Every target sets itself up: the first call makes .venv, later calls find it.

PYTHON ?= python3
VENV   ?= .venv
NOTEBOOK ?=
PORT   ?= 8000
CONSTRAINTS ?= constraints.txt
OLDEST_PYTHON ?= python3.11
DIGESTS ?= runs/digests

BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
HTML   := _build/html
REPORTS := _build/reports
PACKAGE_TESTS := $(addprefix tests/,bad_input course encodings faults graphs models properties \
                   recipes runs train test_cli.py test_import.py test_interpret.py test_predict.py)

# One thread a process (two OpenMP threads on a busy machine are far slower than one); no bars in outputs.
export OMP_NUM_THREADS := 1
export PYTHONHASHSEED := 0
# glibc keeps the memory that a process has freed: steps need not fetch it again (gtcourse.train.memory).
export MALLOC_MMAP_MAX_ := 0
export MALLOC_TRIM_THRESHOLD_ := 1099511627776
unexport PYTHONPATH
# Tests start Python dozens of times; what it has compiled once it may keep.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: student help setup book pdf serve notebooks sync tables repository results test fast lint format clean checks \
        unit-tests oldest notebook-tests book-checks browser-tests bench nightly faults \
        package-tests audit downloads

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(STAMP)  ## make the environment (every other target does so by itself)

$(STAMP): pyproject.toml constraints.txt
	@rm -f $@
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "gtcourse needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c $(CONSTRAINTS) -e '.[test]'
	@touch $@

book: $(STAMP)  ## build the book from the stored outputs; prints where it is
	@$(BIN)/jupyter-book build . -W --keep-going
	@echo "The book: $(CURDIR)/$(HTML)/index.html"

pdf: book  ## the book as one PDF, printed by Chromium; prints where it is
	@$(BIN)/python -m tools.pdf

serve: book  ## build the book and show it on http://localhost:8000
	@echo "Serving on http://localhost:$(PORT) (Ctrl-C ends it)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory $(HTML)

notebooks: $(STAMP)  ## execute every notebook afresh and store its outputs (NOTEBOOK=01 for one)
	@$(BIN)/python -m tools.notebooks execute $(NOTEBOOK)

sync: $(STAMP)  ## bring notebooks and their text sources into agreement
	@$(BIN)/python -m tools.notebooks sync

tables: $(STAMP)  ## write results, run times, benchmarks, ledger and differences into the book
	@$(BIN)/python -m tools.tables write
	@$(BIN)/python -m tools.result_figures write
	@$(BIN)/python -m tools.differs write
	@$(BIN)/python -m tools.model_cards write
	@$(BIN)/python -m tools.ledger write

student: $(STAMP)  ## write each chapter without outputs and solutions, for students
	@$(BIN)/python -m tools.student

repository: $(STAMP)  ## for forks: another repository's name in all files (NAME=owner/name)
	@$(BIN)/python -m tools.repository $(NAME)

results: $(STAMP)  ## continue the queue of long runs (perhaps MINUTES=90 DATA=PATH SEED=1)
	@$(BIN)/python -m tools.queue --data $(or $(DATA),real) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(SEED),--seed $(SEED))

test: $(STAMP)  ## everything that CI checks; ends with a tally
	@$(BIN)/python -m tools.everything

fast: lint checks  ## style, checks and the tests that are not slow
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not nightly" \
	  --ignore=tests/browser --ignore=tests/book

lint: $(STAMP)  ## style of the package, the tests and the notebooks' code; imports and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/deptry gtcourse
	$(BIN)/deptry . book/_ext --ignore DEP004

format: $(STAMP)  ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m tools.notebooks sync

checks: $(STAMP)  ## pairs, outputs, chapters, tables, ledger, differences, figures
	$(BIN)/python -m tools.checks
	$(BIN)/python -m pytest -q --junitxml=$(REPORTS)/checks.xml tests/book

# Those of the book belong to checks.
unit-tests: $(STAMP)  ## the tests of the package and of the tools
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not nightly" --ignore=tests/browser \
	  --ignore=tests/book --junitxml=$(REPORTS)/unit-tests.xml

# With another Python: make package-tests VENV=.venv-3.13 PYTHON=python3.13
package-tests: $(STAMP)  ## the tests of the package alone, without the slow ones
	$(BIN)/python -m pytest -q -m "not slow and not nightly" $(PACKAGE_TESTS)

# Of what is newer than these, some warns of them; here warnings are no errors.
oldest:  ## the tests of the package with the oldest versions that its bounds allow (downloads them)
	@test -x .venv-oldest/bin/python || $(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --disable-pip-version-check --quiet \
	  -c constraints-oldest.txt -e '.[test]'
	.venv-oldest/bin/python -m pytest -q -W default -m "not slow and not nightly" $(PACKAGE_TESTS)

# Lax: only flagged cells are compared. A notebook stays on one worker, or its cells lose their names.
# A warning that a cell's own code causes is an error.
notebook-tests: $(STAMP)  ## every notebook from top to bottom, with a few training steps each
	GTCOURSE_BUDGET=smoke TQDM_DISABLE=1 PYTHONWARNINGS="error:::__main__,ignore:IProgress not found" $(BIN)/python -m pytest -q \
	  --nbval-lax --nbval-current-env --nbval-cell-timeout=900 -p tests.kernels -n 2 --dist loadfile \
	  --junitxml=$(REPORTS)/notebook-tests.xml notebooks

# From scratch: a page that is not read again repeats none of its warnings.
book-checks: $(STAMP)  ## the book without a warning; nothing from other hosts, math, links, alt text
	@$(BIN)/jupyter-book build . --all -W --keep-going
	$(BIN)/python -m pytest -q -rs --junitxml=$(REPORTS)/book-checks.xml tests/browser/test_built_pages.py

# Of the book that book-checks has built; without Chromium they are skipped, and say so.
# One of the two takes over tests of the other, because the longest file alone takes nearly half.
browser-tests: $(STAMP)  ## the built pages in a browser: phone and laptop, light and dark
	$(BIN)/python -m pytest -q -rs -n 2 --dist worksteal \
	  --junitxml=$(REPORTS)/browser-tests.xml tests/browser --ignore=tests/browser/test_built_pages.py

bench: $(STAMP)  ## speed and memory beside peers; wants a quiet machine and a quarter of an hour
	@$(BIN)/python -m speed.models
	@$(BIN)/python -m speed.profile
	@$(BIN)/python -m speed.fused
	@$(BIN)/python -m speed.epoch
	@$(BIN)/python -m speed.shards
	@$(BIN)/python -m speed.compile
	@$(BIN)/python -m speed.flex

# Other examples each night; what fails prints a line that makes it fail again.
nightly: $(STAMP)  ## 2,000 random examples of each property, all data built afresh, determinism (an hour)
	@$(BIN)/python -m pytest -q tests/properties --hypothesis-profile=nightly
	@$(BIN)/python -m pytest -q -m nightly tests
	@FAULT_MOMENTS=4 $(BIN)/python -m pytest -q tests/faults

# Strict, because a version of which the service knows nothing would count as one without faults.
audit:  ## known vulnerabilities of the exact versions (asks PyPI's advisory service)
	@test -x .venv-audit/bin/python || $(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --disable-pip-version-check --quiet --upgrade pip-audit
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

downloads: $(STAMP)  ## download the smaller published data sets afresh, and compare their digests
	DIGESTS=$(DIGESTS) $(BIN)/python -m pytest -q -s tests/graphs/downloads.py

faults: $(STAMP)  ## kills, full disks, two processes, signals: 20 moments of each kind
	FAULT_MOMENTS=20 $(BIN)/python -m pytest -q tests/faults

clean:  ## remove what was built; the environment stays
	rm -rf _build build *.egg-info .pytest_cache .ruff_cache .hypothesis
