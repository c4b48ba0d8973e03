# Every target sets up what it needs in .venv and works alone on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEAM ?=
TASK ?= Mia has 8 pencils and buys 5 more. How many pencils does she have now?

# The strict editable install links single files: a file that is added or removed needs it again.
SOURCES := $(shell find graphs nodes persistence prompts src \( -name '*.py' -o -name '*.md' -o -name '*.toml' -o -name '*.html' \) 2>/dev/null | sort)
LISTING := $(shell printf '%s\n' $(SOURCES) | cksum | cut -d' ' -f1)
RUN_READY := $(VENV)/.run-$(LISTING)
DEV_READY := $(VENV)/.dev-$(LISTING)
BROWSER := $(shell command -v "$${ALIGNGRAPH_BROWSER:-chromium}" || command -v chromium-browser || command -v google-chrome)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=strict

.PHONY: run test browser lint types wheel bench bench-cold studio clean
.DELETE_ON_ERROR:

run: $(RUN_READY)
	@echo "setup: $$(cat $(VENV)/.setup-seconds) s"
	@start=$$(date +%s); $(BIN)/aligngraph models pull smollm2-135m; echo "model: $$(($$(date +%s) - start)) s"
	$(BIN)/aligngraph ask "$(TASK)" $(if $(TEAM),--team $(TEAM))

test: lint types browser
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term

# Reports are opened in a real browser; where none is installed, Debian's is, which takes root.
browser:
	@test -n "$(BROWSER)" || apt-get install -y --no-install-recommends chromium fonts-dejavu-core \
	  || { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } \
	  || { echo "the test of reports needs a browser: install chromium, or name one in ALIGNGRAPH_BROWSER"; exit 1; }

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Types are checked on what ships: the editable install hides all but the files below src from mypy.
types: $(DEV_READY)
	rm -rf .typecheck build/lib build/bdist.*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .typecheck .
	cd .typecheck && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p aligngraph

wheel: $(DEV_READY)
	rm -rf dist build/lib build/bdist.*
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null

bench: $(DEV_READY)
	$(BIN)/aligngraph bench speed

# Also what a newcomer waits for: `make run` on the last commit, cloned, with nothing cached.
bench-cold: $(DEV_READY)
	$(BIN)/aligngraph bench speed --cold

studio: $(DEV_READY)
	LANGGRAPH_CLI_NO_ANALYTICS=1 LANGSMITH_TRACING=false $(BIN)/langgraph dev --no-reload --port $${PORT:-2024}

clean:
	rm -rf $(VENV) .typecheck build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .langgraph_api .coverage
	find . -name __pycache__ -prune -exec rm -rf {} + ; find . -name '*.egg-info' -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_READY): pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV), about a minute ..."
	@start=$$(date +%s); $(INSTALL) --editable '.[local]' && echo $$(($$(date +%s) - start)) > $(VENV)/.setup-seconds
	@rm -f $(VENV)/.run-*; touch $@

$(DEV_READY): pyproject.toml | $(BIN)/python
	@echo "installing the development tools into $(VENV), one or two minutes ..."
	@$(INSTALL) --editable '.[dev]'
	@rm -f $(VENV)/.dev-*; touch $@
