-- One row for each Tool of type `search`: what it indexes, how far that is, and who is at work.
-- `table_version` is the version of the table whose words are in it, `tried_version` that of the last
-- attempt, `model` the embeddings in it.
-- `number` names the full text index of SQLite. A task is claimed by writing `worker`, for as long
-- as `leased_until` lies ahead; `due_at` is when to try again, NULL for never.
CREATE TABLE search_indexes (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    number BIGINT NOT NULL,
    table_id TEXT NOT NULL,
    mount TEXT NOT NULL,
    status TEXT NOT NULL,
    table_version BIGINT NOT NULL,
    tried_version BIGINT NOT NULL,
    model TEXT NOT NULL,
    nodes_count BIGINT NOT NULL,
    chunks_count BIGINT NOT NULL,
    indexed_chunks_count BIGINT NOT NULL,
    indexed_at BIGINT,
    last_error TEXT,
    attempts BIGINT NOT NULL,
    due_at BIGINT,
    worker TEXT,
    leased_until BIGINT NOT NULL,
    CONSTRAINT search_indexes_tool PRIMARY KEY (tenant, tool),
    CONSTRAINT search_indexes_of_tool FOREIGN KEY (tenant, tool)
        REFERENCES tools (tenant, id) ON DELETE CASCADE
);
CREATE INDEX search_indexes_by_table ON search_indexes (tenant, table_id);

-- Where in the document which text stands. Texts are known by their hash, so that one that moves
-- keeps its chunks.
CREATE TABLE search_nodes (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    pointer TEXT NOT NULL,
    hash TEXT NOT NULL,
    CONSTRAINT search_nodes_pointer PRIMARY KEY (tenant, tool, pointer),
    CONSTRAINT search_nodes_index FOREIGN KEY (tenant, tool)
        REFERENCES search_indexes (tenant, tool) ON DELETE CASCADE
);
CREATE INDEX search_nodes_by_hash ON search_nodes (tenant, tool, hash);
