# The commands of this project. `make run` and `make test` set up what they need by themselves.
CARGO ?= cargo
FULL := --features full
NEXTEST := $(CARGO) nextest run --workspace
BROWSE = MCP_BIN=$${CARGO_TARGET_DIR:-$$PWD/target}/debug/mcp-all-in-one scripts/mcp-servers run scripts/servers run aimock -- scripts/console --browse
CLIPPY := $(CARGO) clippy --workspace --all-targets
.PHONY: run test test-brokers test-kills test-model test-console screenshots console check bench bench-tools fuzz chaos soak dev release generate fmt features docs deny nextest cargo-deny help

help:                ## List the commands
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/: *[^#]*##/\t/' | expand -t 16

run:                 ## Build and serve on 127.0.0.1:3095 with embedded defaults
	scripts/console --if-possible
	$(CARGO) run --bin mcp-all-in-one -- serve

dev:                 ## The same with a throw-away data folder and debug logs
	MCP_ALL_IN_ONE_HOME=$$PWD/.cache/dev $(CARGO) run --bin mcp-all-in-one -- --log-level info,gateway=debug,server=debug serve

console:             ## Build the console that the server shows at /
	scripts/console

release:             ## The binary that is handed out, with everything in it
	scripts/console
	$(CARGO) build --release $(FULL) --bin mcp-all-in-one

test: nextest        ## Every test, with real servers and a browser that it installs, starts and stops
	scripts/console --if-possible
	$(CARGO) test --quiet --doc -p gotemplate
	CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-$$PWD/target} $(CARGO) test --quiet --manifest-path crates/gotemplate/differential/Cargo.toml --tests
	scripts/flaky run scripts/mcp-servers run scripts/postgres run scripts/servers run -- $(NEXTEST) $(FULL)
	$(if $(WITHOUT_BROWSER),@echo "WITHOUT_BROWSER is set: the console is not tested in a browser",$(BROWSE))

test-brokers: nextest ## Tests on brokers that are built from source, once: minutes the first time
	scripts/servers run tansu rocketmq rnacos -- $(NEXTEST) $(FULL) --profile brokers

test-kills: nextest   ## Processes that die at 200 random moments, on each database; SEED=… repeats a run
	MCP_TEST_KILLS=$${KILLS:-200} MCP_TEST_SEED=$${SEED:-} scripts/postgres run $(CARGO) nextest run -p app $(FULL) --test flows --profile kills

test-model: nextest   ## Agents on a real language model, small enough for any machine
	scripts/servers run smollm -- $(CARGO) nextest run -p app $(FULL) --profile model

test-console:        ## The console in a browser, which is installed unless it is there; each page in every look
	$(CARGO) build $(FULL) --bin mcp-all-in-one
	EVERY_LOOK=1 $(BROWSE)

screenshots:         ## The pictures of the README
	$(CARGO) build $(FULL) --bin mcp-all-in-one
	SCREENSHOTS=1 $(BROWSE) screenshots

check: nextest deny  ## Format, lints, documentation, features, dependencies, tidiness, generated files
	$(CARGO) fmt --all -- --check
	$(CLIPPY) $(FULL) -- -D warnings
	$(MAKE) docs features
	scripts/oldest-rust
	scripts/console --check
	$(NEXTEST) $(FULL) -E 'test(/^tidy::/) or test(/is_fresh$$/)'

features:            ## What is left out compiles, and is refused by the name of its feature
	$(CLIPPY) -- -D warnings
	$(CLIPPY) --no-default-features -- -D warnings
	$(CARGO) nextest run -p connectors --no-default-features --lib -E 'test(left_out)'

docs:                ## The documentation of the code, without a dead link
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps $(FULL)

generate: nextest    ## Write the generated files anew
	UPDATE=1 $(NEXTEST) $(FULL) -E 'test(/is_fresh$$/)'

bench:               ## Benchmarks that print ratios
	$(CARGO) bench -p gateway
	$(CARGO) bench -p gotemplate
	bench/all.sh
	bench/audit.sh
	bench/tables.sh
	BIN=$${CARGO_TARGET_DIR:-$$PWD/target}/release/mcp-all-in-one node bench/events.mjs
	BIN=$${CARGO_TARGET_DIR:-$$PWD/target}/release/mcp-all-in-one node bench/growth.mjs
	$(CARGO) bench -p expression
	MCP_POSTGRES_DURABLE=1 scripts/postgres run bench/flows.sh
	$(CARGO) bench -p search
	$(CARGO) bench -p connectors --bench agent
	scripts/postgres run scripts/servers run -- $(CARGO) bench -p connectors --bench db
	$(CARGO) bench -p connectors --features grpc --bench svc
	scripts/servers run seaweedfs -- $(CARGO) bench -p connectors $(FULL) --bench oss
	scripts/servers run redis rabbitmq -- $(CARGO) bench -p connectors $(FULL) --bench mq
	scripts/servers run exim sms -- $(CARGO) bench -p connectors --features mail --bench mail

fuzz: nextest        ## Every parser of bytes from outside with N (1,000,000) inputs that nobody would write
	scripts/fuzz

chaos:               ## Kills, stops, cuts off and starves real processes for SECS (120) on each database, then looks what is lost
	$(CARGO) build $(FULL) --bin mcp-all-in-one
	BIN=$${BIN:-$${CARGO_TARGET_DIR:-$$PWD/target}/debug/mcp-all-in-one} scripts/postgres run node bench/campaigns/chaos.mjs

soak:                ## Mixed load through every door and connector for SECS (3600): nothing may grow
	$(CARGO) build $(FULL) --bin mcp-all-in-one
	BIN=$${BIN:-$${CARGO_TARGET_DIR:-$$PWD/target}/debug/mcp-all-in-one} node bench/campaigns/soak.mjs

bench-tools:         ## How well and how fast tools are found; TOOL_SETS is the folder of scripts/tool-sets
	$(CARGO) bench -p ranking --bench tools

fmt:                 ## Format everything
	$(CARGO) fmt --all

deny: cargo-deny     ## Licences, advisories and sources of dependencies
	scripts/deny

nextest:
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-nextest

# Unoptimised: it runs for seconds only, so that optimising it would take longer than it saves.
cargo-deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --debug cargo-deny@0.20.2
