-- The unit of its tenant that a person works for: what their runs see as `buCode`, as those of keys do.
ALTER TABLE users ADD COLUMN bu_code TEXT;

-- The live runs of a flow, and those of a group, without a walk through all that have ended.
CREATE INDEX runs_live ON runs (tenant, flow, created_at, id) WHERE ended_at IS NULL;
CREATE INDEX runs_live_group ON runs (tenant, group_key, created_at, id) WHERE ended_at IS NULL AND group_key IS NOT NULL;
