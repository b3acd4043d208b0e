-- Tools over tables may share a name: it must be unique in each instance they are bound to, and
-- nowhere else. A constraint cannot be taken from a table in one text for both databases, so the
-- tables are made anew.
CREATE TABLE old_tools AS SELECT * FROM tools;
CREATE TABLE old_tool_versions AS SELECT * FROM tool_versions;
DROP TABLE tool_versions;
DROP TABLE tools;
CREATE TABLE tools (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    alias TEXT,
    type TEXT NOT NULL,
    description TEXT,
    search TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT tools_id PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX tools_name ON tools (tenant, name) WHERE type NOT IN (
    'get_data_schema', 'get_all_data', 'query_data', 'create', 'update', 'delete', 'preview', 'select', 'search'
);
CREATE TABLE tool_versions (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    version BIGINT NOT NULL,
    content TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT tool_versions_version PRIMARY KEY (tenant, tool, version),
    CONSTRAINT tool_versions_tool FOREIGN KEY (tenant, tool)
        REFERENCES tools (tenant, id) ON DELETE CASCADE
);
INSERT INTO tools (tenant, id, name, alias, type, description, search, status, owner, definition,
    created_at, updated_at, version)
SELECT tenant, id, name, alias, type, description, search, status, owner, definition,
    created_at, updated_at, version FROM old_tools;
INSERT INTO tool_versions (tenant, tool, version, content, changed_by, at)
SELECT tenant, tool, version, content, changed_by, at FROM old_tool_versions;
DROP TABLE old_tools;
DROP TABLE old_tool_versions;

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
    CONSTRAINT instances_hash UNIQUE (hash)
);

-- `name` is the tool's, so that the database itself refuses two tools of one name.
CREATE TABLE bindings (
    tenant TEXT NOT NULL,
    instance TEXT NOT NULL,
    tool TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT bindings_tool PRIMARY KEY (tenant, instance, tool),
    CONSTRAINT bindings_name UNIQUE (tenant, instance, name),
    CONSTRAINT bindings_instance FOREIGN KEY (tenant, instance)
        REFERENCES instances (tenant, id) ON DELETE CASCADE,
    CONSTRAINT bindings_of_tool FOREIGN KEY (tenant, tool)
        REFERENCES tools (tenant, id) ON DELETE CASCADE
);
CREATE INDEX bindings_by_tool ON bindings (tenant, tool);
