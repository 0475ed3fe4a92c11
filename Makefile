# Everything a newcomer needs; each target does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo demo-spark test test-slow lint bench dist docs clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.venv/.runtime: pyproject.toml constraints.txt
	@echo "Installing shoal and the libraries it needs into .venv: half a minute or so, once."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[charts]'
	@$(BIN)/python -m compileall -q src  # byte code: not every environment lets Python write it later
	@touch $@

.venv/.complete: .venv/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[charts,test,lint,bench,spark,analysis,sklearn,web,excel,statistics,postgres,sign,dist]'
	# pycanon pins old libraries but runs with new ones: it comes without its dependencies
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt pycanon
	@touch $@

demo: .venv/.runtime  ## anonymize made-up hospital data, from raw table to verified release
	@$(BIN)/shoal demo --dir demo

.venv/.spark: .venv/.runtime
	@echo "Installing PySpark into .venv: a minute or so, once. It needs Java 17 or later."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[charts,spark]'
	@touch $@

demo-spark: .venv/.spark  ## the same with a million rows on Spark, on this machine
	@$(BIN)/shoal demo --dir demo-spark --rows 1000000 --engine spark

test: .venv/.complete  ## lint, then run all tests
	$(BIN)/shoal warm --methods all --quiet & $(MAKE) --no-print-directory lint && wait
	$(BIN)/python -m pytest -n 2 --durations=15

test-slow: .venv/.complete .venv/.docs  ## all tests with many more examples, and every method and goal on Adult
	SHOAL_TEST_SLOW=1 $(BIN)/python -m pytest -n 2 --durations=15 --hypothesis-profile=full

lint: .venv/.complete  ## style, types, spelling
	$(BIN)/ruff check src tests benchmarks examples docs/write_reference.py docs/methods/draw.py docs/site/build.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/write_reference.py docs/methods/draw.py docs/site/build.py
	$(BIN)/mypy
	$(BIN)/codespell src benchmarks examples docs README.md BENCHMARKS.md CHANGELOG.md CONTRIBUTING.md

bench: .venv/.complete  ## speed and loss, as ratios measured in one run
	$(BIN)/python benchmarks/run.py

.venv/.dist: .venv/.runtime
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	@touch $@

dist: .venv/.dist  ## build the wheel and the source distribution into dist/
	@rm -rf dist
	$(BIN)/python -m build --outdir dist .

.venv/.docs: .venv/.runtime
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[charts,analysis,docs]'
	@touch $@

docs: .venv/.docs  ## build the documentation site into site/
	$(BIN)/python docs/site/build.py

clean:  ## remove what the other targets made
	rm -rf .venv demo demo-spark dist build site src/*.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
