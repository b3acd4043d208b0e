-- What a caller and an agent have said to each other. `caller` is whose it is, as kind and id. What was said is sealed;
-- `bytes` is how much that is.
CREATE TABLE conversations (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    caller TEXT NOT NULL,
    caller_name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT conversations_id PRIMARY KEY (tenant, id)
);
CREATE INDEX conversations_caller ON conversations (tenant, caller, updated_at, id);
CREATE INDEX conversations_updated ON conversations (tenant, updated_at, id);
CREATE INDEX conversations_expires ON conversations (expires_at);

CREATE TABLE conversation_turns (
    tenant TEXT NOT NULL,
    conversation TEXT NOT NULL,
    number BIGINT NOT NULL,
    run TEXT NOT NULL,
    at BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    said TEXT NOT NULL,
    CONSTRAINT conversation_turns_number PRIMARY KEY (tenant, conversation, number),
    CONSTRAINT conversation_turns_run UNIQUE (tenant, conversation, run),
    CONSTRAINT conversation_turns_of FOREIGN KEY (tenant, conversation) REFERENCES conversations (tenant, id) ON DELETE CASCADE
);
