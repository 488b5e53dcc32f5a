# What people and CI call; `make help` lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The targets are whole tools, each parallel in itself.
.NOTPARALLEL:

CARGO      ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
DEMO       := .demo/demo.git

# Tests wait more than they compute: there are two for each core.
check test: export NEXTEST_TEST_THREADS ?= $(shell echo $$(($$(nproc) * 2)))
check test: export TMPDIR := $(shell .ci/tmpdir.sh)
define run_tests
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
	    set -x; $(CARGO) nextest run --workspace --locked $(1); \
	else \
	    set -x; $(CARGO) test --workspace --locked $(1); \
	fi
endef

.PHONY: help
help: ## Print this list
	@awk -F ': .*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: ## Install what is missing (says what first; may use sudo)
	@.ci/setup.sh clients

# What it takes without the clients that only the tests run.
.PHONY: tools
tools:
	@.ci/setup.sh

.PHONY: build
build: ## Build the release binary
	$(CARGO) build --release --locked

.PHONY: demo
demo: ## Make the demo repository, .demo/demo.git
	@fixtures/make-demo.sh $(DEMO)

.PHONY: run
# Whoever wants to see it first would rather not wait for the optimiser.
run: tools demo ## Build soon and serve the demo (ARGS='…' for more flags)
	$(CARGO) build --profile trial --no-default-features --locked
	@exec "$(TARGET_DIR)/trial/branchyard" serve --config workspaces.example.toml $(ARGS)

.PHONY: check
check: tools ## Check format, lints, unit tests, licences and dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(call run_tests,--lib --bins --test layers)
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	    echo '$(CARGO) deny --locked check bans licenses sources'; \
	    $(CARGO) deny --locked check bans licenses sources; \
	else \
	    echo 'check: cargo-deny is not installed: bans, licences and sources skipped'; \
	fi
	@if $(CARGO) machete --version >/dev/null 2>&1; then \
	    echo '$(CARGO) machete'; \
	    $(CARGO) machete; \
	else \
	    echo 'check: cargo-machete is not installed: unused dependencies skipped'; \
	fi

.PHONY: test
test: setup ## Run the tests (TESTS='…' for some of them)
	$(call run_tests,--tests $(TESTS))

.PHONY: reference
reference: ## Generate docs/reference and workspaces.example.toml from the source
	BRANCHYARD_WRITE_REFERENCE=1 $(CARGO) test --workspace --locked --lib --bins reference_page

.PHONY: soak
soak: setup ## Run the long tests under load, in release mode
	@export BRANCHYARD_SOAK=1; \
	if $(CARGO) nextest --version >/dev/null 2>&1; then \
	    set -x; $(CARGO) nextest run --workspace --locked --release --profile soak --run-ignored only soak; \
	else \
	    set -x; $(CARGO) test --workspace --locked --release --tests soak -- --ignored; \
	fi

.PHONY: bench
# Only what the wanted groups compare with is installed.
bench: compared := $(if $(filter mcp,$(or $(BENCH),mcp)),peers) $(if $(filter instructions,$(or $(BENCH),instructions)),valgrind)
bench: ## Measure beside the plain tools (BENCH='…' for some groups; docs/PERFORMANCE.md)
	@.ci/setup.sh $(compared)
	$(CARGO) bench --locked --bench yard -- $(BENCH)

.PHONY: clean
clean: ## Remove what was built, and the demo repository
	$(CARGO) clean
	rm -rf $(DEMO)
