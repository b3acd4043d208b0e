-- Parts of texts, by the characters where they begin and end; the text itself is in the document.
-- The words of each are in a full text index of the Tool's own, search_words_<number>.
CREATE TABLE search_chunks (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    hash TEXT NOT NULL,
    position BIGINT NOT NULL,
    char_start BIGINT NOT NULL,
    char_end BIGINT NOT NULL,
    CONSTRAINT search_chunks_position UNIQUE (tenant, tool, hash, position),
    CONSTRAINT search_chunks_index FOREIGN KEY (tenant, tool)
        REFERENCES search_indexes (tenant, tool) ON DELETE CASCADE
);

-- Embeddings of unit length, as 32 bit floats, the lowest byte first.
CREATE TABLE search_vectors (
    chunk INTEGER PRIMARY KEY REFERENCES search_chunks (id) ON DELETE CASCADE,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    embedding BLOB NOT NULL
);
CREATE INDEX search_vectors_by_tool ON search_vectors (tenant, tool);
