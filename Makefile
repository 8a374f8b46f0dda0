# The steps of a newcomer. All they need is make and Python 3.11 or newer with venv: they set up .venv by themselves.

SHELL  := /bin/sh
APP    ?= examples/shop.py
ARGS   ?=
PYTHON ?=
SHORT  ?=

bin := .venv/bin

# The first Python that is new enough; one named by PYTHON= is the only one asked.
define setup
@for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11 python); do \
	if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
		exec "$$python" requirements/install.py $(1) $(if $(PYTHON),--this-python); \
	fi; \
done; \
echo "deltawire needs Python 3.11 or newer$(if $(PYTHON),$(strip , and $(PYTHON) is not),: none was found). Name one: make PYTHON=/path/to/python3" >&2; exit 1
endef

.PHONY: help serve web pictures test field check generate dist bench bench-peers load soak fuzz fuzz-readers lock clean \
	setup-serve setup-dev
.DEFAULT_GOAL := help

help: ## This list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

serve: setup-serve ## Serve examples/shop.py, or APP=file.py; ARGS='--port 8080'.
	@$(bin)/python requirements/web.py --optional || [ $$? -eq 1 ] # a page that is broken is told, and left as it was
	@exec $(bin)/deltawire serve $(APP) $(ARGS)

web: setup-serve ## Build the page of web/, where it has changed: `make serve` does so too.
	@$(bin)/python requirements/web.py

pictures: setup-dev ## Make the pictures of docs/playground again, with a real browser.
	@DELTAWIRE_TEST_PICTURES=1 $(bin)/python -m pytest -q tests/playground/test_looks.py -k picture

test: setup-dev ## Run the tests (ARGS='-k invoke': flags of pytest).
	@$(bin)/python requirements/web.py --optional
	@$(bin)/python -m pytest $(ARGS)

field: setup-dev ## Play the failures that people met with such servers, and account for each (ARGS='-k uf_01').
	@$(bin)/python -m pytest tests/field -q $(ARGS)

check: setup-dev ## Lint, formatting, types, those of the page too, and which room imports which.
	@$(bin)/python requirements/web.py --optional
	@$(bin)/ruff check
	@$(bin)/ruff format --check
	@$(bin)/basedpyright --pythonpath $(bin)/python
	@$(bin)/lint-imports
	@$(bin)/python proto/generate.py --check

generate: setup-dev ## Make the stubs of proto/ again.
	@$(bin)/python proto/generate.py

dist: setup-dev ## Build the wheel and the source archive, with the page in them, in dist/.
	@$(bin)/python requirements/web.py
	@$(bin)/python -m hatchling build

bench: setup-dev ## Measure servers side by side, and write docs/benchmarks.md (SHORT=1: a minute, and no page).
	@mkdir -p build && rm -f build/bench.json
	@SHORT=$(SHORT) $(bin)/python -m bench --json build/bench.json $(ARGS); ended=$$?; \
	if [ -f build/bench.json ]; then $(bin)/python -m bench.report build/bench.json || exit; fi; exit $$ended

bench-peers: setup-dev ## Install the servers of others that make bench measures beside, and try them.
	@$(bin)/python -m bench.peers
	@DELTAWIRE_TEST_REQUIRE_ALL=1 $(bin)/python -m pytest -q tests/test_bench_peers.py

soak: setup-dev ## Ten minutes of faults on every wire, and what they leave (SHORT=1: in seconds).
	@SHORT=$(SHORT) $(bin)/python -m soak $(ARGS)

load: setup-dev ## Hold 4,000 streams open on each wire (SHORT=1: 300 for ten seconds).
	@SHORT=$(SHORT) $(bin)/python -m bench.open_streams $(ARGS)

fuzz: setup-dev ## Play the OpenAPI document, ever anew (EXAMPLES=500: each call).
	@DELTAWIRE_TEST_FUZZ=$(or $(EXAMPLES),500) $(bin)/python -m pytest tests/openapi/test_fuzz.py $(ARGS)

# Universal locks: every platform's wheels with their hashes, no address. Pins stay as they are where they still fit.
compile = $(bin)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --only-binary :all: \
	--generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)
local := src/deltawire/providers/local/requirements.txt

fuzz-readers: setup-dev ## Bytes that nobody thought of, to all that reads foreign bytes (SECONDS=3600; ARGS=sse_reader).
	@$(bin)/python -m tests.fuzz --seconds $(or $(SECONDS),60) $(ARGS)

lock: setup-dev ## Make the locks again (ARGS=--upgrade: with newer versions).
	@$(compile) --group build --group local --group web --group dev --output-file requirements/dev.txt
	@$(compile) --group build --group local --constraint requirements/dev.txt --output-file requirements/serve.txt
	@$(subst pyproject.toml,,$(compile)) --group local --no-deps --constraint requirements/dev.txt --output-file $(local)
	@$(subst pyproject.toml,,$(compile)) --group web --no-deps --constraint requirements/dev.txt --output-file requirements/web.txt
	@$(subst pyproject.toml,tests/generators/requirements.in,$(compile)) --output-file tests/generators/requirements.txt
	@$(subst pyproject.toml,tests/fuzz/requirements.in,$(compile)) --output-file tests/fuzz/requirements.txt
	@$(subst pyproject.toml,bench/peers/usual.in,$(compile)) --output-file bench/peers/usual.txt
	@$(subst pyproject.toml,bench/peers/litellm.in,$(compile)) --output-file bench/peers/litellm.txt

clean: ## Remove .venv, the built page and every cache.
	@rm -rf src/deltawire/playground web/node_modules tests/node/node_modules tests/generators/.venv tests/fuzz/.packages
	@rm -rf .venv .venv-peers .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-serve:
	$(call setup,serve)

setup-dev:
	$(call setup,dev)
