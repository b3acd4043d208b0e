# The commands of this project. `make run` and `make test` set up what they need by themselves.
CARGO ?= cargo
NEXTEST := $(CARGO) nextest run --workspace
.PHONY: run test check bench dev generate fmt deny nextest help

help:                ## List the commands
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/: *[^#]*##/\t/' | expand -t 16

run:                 ## Build and serve on 127.0.0.1:3095 with embedded defaults
	$(CARGO) run --bin mcp-all-in-one -- serve

dev:                 ## The same with a throw-away data folder and debug logs
	MCP_ALL_IN_ONE_HOME=$$PWD/.cache/dev $(CARGO) run --bin mcp-all-in-one -- --log-level info,gateway=debug,server=debug serve

test: nextest        ## Every test, with real servers that it installs, starts and stops
	$(CARGO) test --quiet --doc -p gotemplate
	CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-$$PWD/target} $(CARGO) test --quiet --manifest-path crates/gotemplate/differential/Cargo.toml --tests
	scripts/mcp-servers run scripts/postgres run scripts/servers run -- $(NEXTEST)

check: nextest       ## Format, lints, tidiness, generated files
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(NEXTEST) -E 'test(/^tidy::/) or test(/is_fresh$$/)'

generate: nextest    ## Write the generated files anew
	UPDATE=1 $(NEXTEST) -E 'test(/is_fresh$$/)'

bench:               ## Benchmarks that print ratios
	$(CARGO) bench -p gateway
	$(CARGO) bench -p gotemplate
	bench/all.sh
	bench/tables.sh
	$(CARGO) bench -p search
	scripts/postgres run scripts/servers run -- $(CARGO) bench -p connectors --bench db

fmt:                 ## Format everything
	$(CARGO) fmt --all

deny:                ## Licences, advisories and duplicates of dependencies
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

nextest:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest
