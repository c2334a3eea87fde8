# Two commands matter to a newcomer: `make demo` and `make test`. Everything runs inside .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE_SOURCES := $(wildcard simulator/core/*.cpp simulator/core/*.hpp simulator/core/*/*.cpp simulator/core/*/*.hpp) simulator/CMakeLists.txt
PYTHON_FILES := $(shell find autocomp simulator isa menus workloads schedules -name '*.py' -o -name '*.lark' -o -name '*.j2' 2>/dev/null)

.PHONY: setup build
setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.20" "ninja>=1.11"
	$(BIN)/python -m pip install --quiet --no-build-isolation -e ".[dev]"
	touch $@

build:
	flock .venv/.lock $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
