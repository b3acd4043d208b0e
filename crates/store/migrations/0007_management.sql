-- What the tenant's tables may take; NULL is the default.
ALTER TABLE tenants ADD COLUMN table_quota_bytes BIGINT;

-- Who changed what in the configuration: as the audit of calls, in a table of its own, so that few records are
-- found without passing many, and no call can be taken for one of them.
CREATE TABLE management (
    tenant TEXT NOT NULL,
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    service TEXT NOT NULL,
    status TEXT NOT NULL,
    arguments TEXT,
    details TEXT NOT NULL,
    CONSTRAINT management_key PRIMARY KEY (tenant, at, id)
);
