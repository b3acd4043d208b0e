-- A flow has one draft, which may be broken, and its published versions, which never change.
CREATE TABLE flows (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    search TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    draft TEXT NOT NULL,
    revision BIGINT NOT NULL,
    current_version BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT flows_id PRIMARY KEY (tenant, id)
);

CREATE TABLE flow_versions (
    tenant TEXT NOT NULL,
    flow TEXT NOT NULL,
    version BIGINT NOT NULL,
    source TEXT NOT NULL,
    bound TEXT NOT NULL,
    published_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT flow_versions_version PRIMARY KEY (tenant, flow, version),
    CONSTRAINT flow_versions_flow FOREIGN KEY (tenant, flow) REFERENCES flows (tenant, id) ON DELETE CASCADE
);

-- Which nodes name which services; version 0 is the draft.
CREATE TABLE flow_refs (
    tenant TEXT NOT NULL,
    flow TEXT NOT NULL,
    version BIGINT NOT NULL,
    node TEXT NOT NULL,
    type TEXT NOT NULL,
    service TEXT NOT NULL,
    tool TEXT NOT NULL,
    CONSTRAINT flow_refs_node PRIMARY KEY (tenant, flow, version, node, type, service, tool),
    CONSTRAINT flow_refs_flow FOREIGN KEY (tenant, flow) REFERENCES flows (tenant, id) ON DELETE CASCADE
);
CREATE INDEX flow_refs_service ON flow_refs (tenant, type, service);

-- The triggers of the current version. `secret` is sealed. `mark` is how far a trigger has come, in words of its own;
-- `hook` is the last part of a webhook's address.
CREATE TABLE flow_triggers (
    tenant TEXT NOT NULL,
    flow TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    settings TEXT NOT NULL,
    status TEXT NOT NULL,
    secret TEXT,
    hook TEXT,
    mark TEXT,
    CONSTRAINT flow_triggers_name PRIMARY KEY (tenant, flow, name),
    CONSTRAINT flow_triggers_hook UNIQUE (hook),
    CONSTRAINT flow_triggers_flow FOREIGN KEY (tenant, flow) REFERENCES flows (tenant, id) ON DELETE CASCADE
);

-- All times are the database's. `due_at`: when somebody is to take the run, NULL for never by itself. `owner`, `epoch` and
-- `leased_until`: who has it, as in `leases`. `last_seq` is the number of its last record, `news_seq` that of the last one
-- that its owner did not write. `is_admitted`: it holds a slot of its group, or has none to wait for.
CREATE TABLE runs (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    flow TEXT NOT NULL,
    version BIGINT,
    state TEXT NOT NULL,
    due_at BIGINT,
    owner TEXT,
    epoch BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    news_seq BIGINT NOT NULL,
    group_key TEXT,
    is_admitted BIGINT NOT NULL,
    is_secret BIGINT NOT NULL,
    parent TEXT,
    parent_path TEXT,
    origin TEXT NOT NULL,
    caller TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    CONSTRAINT runs_id PRIMARY KEY (tenant, id)
);
CREATE INDEX runs_created ON runs (tenant, created_at, id);
CREATE INDEX runs_flow ON runs (tenant, flow, created_at, id);
CREATE INDEX runs_due ON runs (tenant, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX runs_held ON runs (tenant, owner) WHERE owner IS NOT NULL;
CREATE INDEX runs_queued ON runs (tenant) WHERE state = 'queued';
CREATE INDEX runs_blocked ON runs (tenant, group_key, created_at, id) WHERE is_admitted = 0;
CREATE INDEX runs_parent ON runs (tenant, parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;

-- Sealed if the run is secret, its records, too. `source` is the text of a draft.
CREATE TABLE run_data (
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    source TEXT,
    inputs TEXT NOT NULL,
    output TEXT,
    error TEXT,
    CONSTRAINT run_data_run PRIMARY KEY (tenant, run),
    CONSTRAINT run_data_of FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE TABLE run_journal (
    tenant TEXT NOT NULL,
    run TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    path TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    is_news BIGINT NOT NULL,
    CONSTRAINT run_journal_seq PRIMARY KEY (tenant, run, seq),
    CONSTRAINT run_journal_of FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

-- What nodes wait for; once it is over it stays until the run goes, so that a second answer learns so.
CREATE TABLE run_waits (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    run TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    until BIGINT,
    data TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    CONSTRAINT run_waits_id PRIMARY KEY (tenant, id),
    CONSTRAINT run_waits_of FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);
CREATE INDEX run_waits_run ON run_waits (tenant, run, path);
CREATE INDEX run_waits_open ON run_waits (tenant, kind, opened_at, id) WHERE closed_at IS NULL;

CREATE TABLE run_dedupe (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    flow TEXT NOT NULL,
    key TEXT NOT NULL,
    run TEXT NOT NULL,
    until BIGINT NOT NULL,
    CONSTRAINT run_dedupe_key PRIMARY KEY (tenant, flow, key)
);
CREATE INDEX run_dedupe_until ON run_dedupe (until);

-- How many runs of a group may be under way at once, and how many are. The group '' is the tenant itself: its row only
-- keeps two claims from counting at the same time.
CREATE TABLE run_slots (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    group_key TEXT NOT NULL,
    slots BIGINT NOT NULL,
    taken BIGINT NOT NULL,
    CONSTRAINT run_slots_group PRIMARY KEY (tenant, group_key)
);
