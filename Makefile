# One command checks everything: `make check`. PYTHON names the interpreter that has the tools.
PYTHON ?= python

.PHONY: check quick format lint types typecheck contracts size docs test fast random slow coverage lock

check: lint types contracts size docs test

quick: lint types fast  ## before a commit: everything but the slow tests

format:  ## rewrite the code in the one format
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint: size
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m pyright --pythonpath "$$($(PYTHON) -c 'import sys; print(sys.executable)')"

typecheck: types

contracts:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as main; main()" --no-cache

size:  ## lines and files of src, which must not exceed size.txt
	@$(PYTHON) scripts/package_size.py

docs:  ## build the site into site/; warnings and broken links are errors
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --strict

test:
	$(PYTHON) -m pytest -n auto --dist loadgroup  # the tests of an engine share one start of it

fast:
	$(PYTHON) -m pytest -q -n auto -m "not slow"

random:  ## the property tests; in CI with more examples than the README's command
	$(PYTHON) -m pytest -q -m "not slow" tests/properties tests/golden/test_trec_eval_files.py

slow:  ## the tests that the README's command leaves out
	$(PYTHON) -m pytest -n auto --dist loadgroup -m slow

coverage:  ## what the fast tests run of src, the least covered files first
	$(PYTHON) -m coverage run -m pytest -q -m "not slow"
	$(PYTHON) -m coverage report --sort=cover

lock:  ## pin everything that the checks use; needs uv
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	  --output-file requirements.lock
