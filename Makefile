# Everything is installed into virtual environments inside this folder; nothing global is touched.
# `make run ARGS="--port 9000"` and `make test ARGS="-k ordering"` pass arguments on.

.DEFAULT_GOAL := run
.DELETE_ON_ERROR:

# The first interpreter that is new enough and can make environments.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3.14 python3,\
    $(shell $(name) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' \
        >/dev/null 2>&1 && echo $(name))))
ARGS ?=

BIN := .venv/bin
OLDEST_BIN := .venv-oldest/bin
PIP := -m pip --disable-pip-version-check --quiet

.PHONY: run test clients clients-python clients-go clients-java clients-node clients-more clients-table \
	check bench soak protos clean

run: .venv/.installed
	@exec $(BIN)/pubsub-emulator start $(ARGS)

test: .venv/.installed-dev .venv-oldest/.installed
	$(BIN)/python -m pytest $(ARGS)
	$(OLDEST_BIN)/python tests/compat/check_oldest.py

# The contract suites of the official clients, where their tools are installed;
# `make clients ENDPOINT=localhost:8085` runs them against a server that is there already.
clients: .venv/.installed-dev
	$(BIN)/python -m scripts.clients $(ARGS)

clients-python clients-go clients-java clients-node: clients-%: .venv/.installed-dev
	$(BIN)/python -m scripts.clients $* $(ARGS)

# Programs that people run on Pub/Sub, one round trip each. The first time takes many minutes.
clients-more: .venv/.installed-dev
	$(BIN)/python -m scripts.clients --more $(ARGS)

# Runs them against Google's emulator too, and writes down how both fared.
clients-table: .venv/.installed-dev
	$(BIN)/python -m scripts.clients --table docs/compatibility.md $(ARGS)

check: .venv/.installed-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m scripts.generate_api --check
	$(BIN)/python -m scripts.spec_coverage

bench: .venv/.installed-dev
	$(BIN)/python -m scripts.bench $(ARGS)

soak: .venv/.installed-dev
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m scripts.bench --soak $(ARGS)

protos: .venv/.installed-dev
	$(BIN)/python -m scripts.vendor_protos
	$(BIN)/python -m scripts.generate_api

clean:
	rm -rf .venv .venv-oldest .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find emulator scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +

%/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (set PYTHON=...)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $*
	touch $@

.venv/.installed: pyproject.toml | .venv/.made
	$(BIN)/python $(PIP) install --editable .
	touch $@

.venv/.installed-dev: pyproject.toml | .venv/.made
	$(BIN)/python $(PIP) install --editable '.[dev]'
	touch .venv/.installed $@

.venv-oldest/.installed: pyproject.toml tests/compat/oldest.txt | .venv-oldest/.made
	$(OLDEST_BIN)/python $(PIP) install --editable . --requirement tests/compat/oldest.txt
	touch $@
