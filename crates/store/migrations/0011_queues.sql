-- Queues of this program's own. `last_position` is the number of the last message; `messages` and `bytes` are what lies in
-- the queue, for the quota of its tenant.
CREATE TABLE queues (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    last_position BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    CONSTRAINT queues_name PRIMARY KEY (tenant, name)
);

-- All times are the database's. `due_at`: when somebody is to get the message. `leased_until`: nobody else gets it before.
-- `attempt` counts deliveries; a message is settled by the number of the last.
CREATE TABLE queue_messages (
    tenant TEXT NOT NULL,
    queue TEXT NOT NULL,
    position BIGINT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    key TEXT,
    headers TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    published_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    CONSTRAINT queue_messages_position PRIMARY KEY (tenant, queue, position),
    CONSTRAINT queue_messages_queue FOREIGN KEY (tenant, queue) REFERENCES queues (tenant, name) ON DELETE CASCADE
);
CREATE INDEX queue_messages_due ON queue_messages (tenant, queue, due_at, position);

-- Calls that are made at a later time. `service` is the part of the address that says where they go: those of one service
-- are made in order. `failure` is why one was given up.
CREATE TABLE later_calls (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    service TEXT NOT NULL,
    uri TEXT NOT NULL,
    arguments TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    failure TEXT,
    CONSTRAINT later_calls_id PRIMARY KEY (tenant, id)
);
CREATE INDEX later_calls_due ON later_calls (tenant, service, due_at, id) WHERE failure IS NULL;
CREATE INDEX later_calls_next ON later_calls (due_at) WHERE failure IS NULL;

-- What is to happen once. `result` is missing while nobody knows how it ended.
CREATE TABLE once_results (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    result TEXT,
    until BIGINT NOT NULL,
    CONSTRAINT once_results_key PRIMARY KEY (tenant, scope, key)
);
CREATE INDEX once_results_until ON once_results (until);
