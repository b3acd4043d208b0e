-- Runs of flows and runs of agents are claimed apart, so that neither is looked for among the others.
DROP INDEX runs_due;
CREATE INDEX runs_due_flows ON runs (tenant, due_at, id) WHERE due_at IS NOT NULL AND agent IS NULL;
CREATE INDEX runs_due_agents ON runs (tenant, due_at, id) WHERE due_at IS NOT NULL AND agent IS NOT NULL;
