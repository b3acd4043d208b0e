CREATE TABLE meta (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    CONSTRAINT meta_name PRIMARY KEY (name)
);

-- The row '*' is the counter; the others say when each tenant changed last.
-- Rows outlive their tenant, so that every replica learns of a deletion.
CREATE TABLE revisions (
    tenant TEXT NOT NULL,
    value BIGINT NOT NULL,
    CONSTRAINT revisions_tenant PRIMARY KEY (tenant)
);
INSERT INTO revisions (tenant, value) VALUES ('*', 0);

CREATE TABLE tenants (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    limits TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT tenants_id PRIMARY KEY (id)
);

CREATE TABLE users (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    username TEXT NOT NULL,
    display_name TEXT NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    tokens_valid_after BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT users_id PRIMARY KEY (tenant, id),
    CONSTRAINT users_username UNIQUE (tenant, username)
);

CREATE TABLE keys (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL,
    role TEXT NOT NULL,
    scopes TEXT NOT NULL,
    allow TEXT NOT NULL,
    limits TEXT NOT NULL,
    status TEXT NOT NULL,
    expires_at BIGINT,
    created_by TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT keys_id PRIMARY KEY (tenant, id),
    CONSTRAINT keys_hash UNIQUE (hash)
);

-- `config` is sealed. `search` is what the list's text filter looks at, in lower case.
CREATE TABLE services (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    search TEXT NOT NULL,
    status TEXT NOT NULL,
    config TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT services_id PRIMARY KEY (tenant, type, id)
);

-- `definition` is sealed.
CREATE TABLE service_tools (
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    service TEXT NOT NULL,
    id TEXT NOT NULL,
    position BIGINT NOT NULL,
    definition TEXT NOT NULL,
    CONSTRAINT service_tools_id PRIMARY KEY (tenant, type, service, id),
    CONSTRAINT service_tools_service FOREIGN KEY (tenant, type, service)
        REFERENCES services (tenant, type, id) ON DELETE CASCADE
);

-- No reference to tenants: a call with a foreign or deleted tenant is recorded too.
CREATE TABLE audit (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    at BIGINT NOT NULL,
    caller TEXT NOT NULL,
    caller_kind TEXT NOT NULL,
    door TEXT NOT NULL,
    tool TEXT NOT NULL,
    uri TEXT NOT NULL,
    service TEXT NOT NULL,
    arguments TEXT,
    status TEXT NOT NULL,
    code TEXT,
    message TEXT,
    duration_us BIGINT NOT NULL,
    request_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    result_bytes BIGINT NOT NULL,
    CONSTRAINT audit_id PRIMARY KEY (tenant, id)
);
CREATE INDEX audit_by_time ON audit (tenant, at, id);
CREATE INDEX audit_by_age ON audit (at);
