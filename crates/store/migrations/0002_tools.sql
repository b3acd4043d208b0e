-- `definition` is sealed. `search` is what the list's text filter looks at, in lower case.
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
    CONSTRAINT tools_id PRIMARY KEY (tenant, id),
    CONSTRAINT tools_name UNIQUE (tenant, name)
);

-- Every version a tool ever had, the present one too. `content` is sealed.
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
