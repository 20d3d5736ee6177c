# Everything a fresh machine needs: Python, make and, for the native engine, a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NATIVE := $(wildcard src/slisde/flow/native/*.cc src/slisde/flow/native/*.h)
PYTEST := $(BIN)/pytest -q -n 2 --dist worksteal

.PHONY: demo test test-slow check format tables bench lock clean
.DEFAULT_GOAL := test

demo: $(READY) ## fit the demo surface and write its report
	$(BIN)/slisde doctor
	$(BIN)/slisde calibrate demo --preset quick --out runs/demo --resume --progress
	$(BIN)/slisde evaluate runs/demo
	$(BIN)/slisde price runs/demo "up_and_out_call(strike=1.0, barrier=1.2, maturity=1.0)"
	@echo "open runs/demo/report.html in a browser"

test: $(READY) ## all tests of minutes, on two cores
	$(PYTEST) -m "not slow"

test-slow: $(READY) ## the longer studies and the address sanitizer
	$(PYTEST) -m slow

check: $(READY) ## format, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

tables: $(READY) ## README and docs from the records in results/
	$(BIN)/python benchmarks/render.py

bench: $(READY) ## time and memory of a training step beside the published figures
	$(BIN)/python benchmarks/training_step.py

lock: ## write requirements.lock anew; refuses to write a package index into it
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-header -q -o requirements.lock
	! grep -nE '://|--index|--find-links' requirements.lock

$(READY): pyproject.toml requirements.lock setup.py $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slisde needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf $(VENV) build src/*.egg-info src/slisde/flow/native/*.so
