-- `version` grows with every change of the document. `log_count` and `log_bytes` are what has been
-- written to table_versions since the last snapshot. `search` is what the list's text filter looks at.
CREATE TABLE tables (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    search TEXT NOT NULL,
    owner TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    log_count BIGINT NOT NULL,
    log_bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT tables_id PRIMARY KEY (tenant, id)
);

-- One row for each version that can still be read. `change` leads from the version before to this
-- one; where it is missing, the version has a snapshot.
CREATE TABLE table_versions (
    tenant TEXT NOT NULL,
    table_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    change TEXT,
    changed_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT table_versions_version PRIMARY KEY (tenant, table_id, version),
    CONSTRAINT table_versions_table FOREIGN KEY (tenant, table_id)
        REFERENCES tables (tenant, id) ON DELETE CASCADE
);

-- The whole document as it was in a version.
CREATE TABLE table_snapshots (
    tenant TEXT NOT NULL,
    table_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT table_snapshots_version PRIMARY KEY (tenant, table_id, version),
    CONSTRAINT table_snapshots_table FOREIGN KEY (tenant, table_id)
        REFERENCES tables (tenant, id) ON DELETE CASCADE
);

-- The key of an instance is kept as its hash.
CREATE TABLE instances (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT instances_id PRIMARY KEY (tenant, id),
    CONSTRAINT instances_api_key UNIQUE (hash)
);

CREATE TABLE bindings (
    tenant TEXT NOT NULL,
    instance TEXT NOT NULL,
    tool TEXT NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT bindings_tool PRIMARY KEY (tenant, instance, tool),
    CONSTRAINT bindings_instance FOREIGN KEY (tenant, instance)
        REFERENCES instances (tenant, id) ON DELETE CASCADE,
    CONSTRAINT bindings_of_tool FOREIGN KEY (tenant, tool)
        REFERENCES tools (tenant, id) ON DELETE CASCADE
);
CREATE INDEX bindings_by_tool ON bindings (tenant, tool);
