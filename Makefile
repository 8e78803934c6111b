# Everything is set up inside .venv; nothing else of the machine is touched.
#   make demo      build, then run the examples on both simulated machines
#   make test      all tests
#   make bench     compile times, run times and rates, as docs/benchmarks.md has them
#   make lint      formatting and lints
#   make upstream  unmodified upstream scripts from the checkout in $TILEWRIGHT_UPSTREAM
#   make upstream-ptoas  upstream's .pto files and tests of its assembler, from the same folder

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := python tests examples benches build_backend
SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

.PHONY: setup demo test bench lint upstream upstream-ptoas wheel clean

setup: $(VENV)/built

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'numpy>=1.24' 'ml_dtypes>=0.3' 'pytest>=8' 'ruff==0.17.6'
	touch $@

$(VENV)/built: $(VENV)/ready $(SOURCES)
	$(BIN)/python build_backend/tilewright_build.py
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release
	touch $@

demo: setup
	$(BIN)/python examples

# The Python module has its tests in Python: it does not link without an interpreter.
test: setup
	GENERATE_SECONDS=60 cargo test --release --workspace --exclude python
	$(BIN)/python -m pytest

bench: setup
	$(BIN)/python benches/run.py

lint: $(VENV)/ready
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check $(PY)
	$(BIN)/ruff check $(PY)

wheel: $(VENV)/ready
	$(BIN)/python build_backend/tilewright_build.py
	$(BIN)/maturin build --release --out dist

upstream:
	@if [ -d "$$TILEWRIGHT_UPSTREAM/pypto-lib" ]; then $(MAKE) --no-print-directory wheel; fi
	@$(PYTHON) tests/upstream/run.py

upstream-ptoas:
	@cargo build --release --quiet -p cli --bin ptoas
	@$(PYTHON) tests/upstream/ptoas.py

clean:
	rm -rf $(VENV) dist target build_output python/data/scripts
