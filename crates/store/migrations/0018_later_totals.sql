-- What waits for its time, for the bounds of its tenant: counted with every change, so that nobody has to count it.
CREATE TABLE later_totals (
    tenant TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    calls BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    CONSTRAINT later_totals_tenant PRIMARY KEY (tenant)
);
INSERT INTO later_totals (tenant, calls, bytes)
    SELECT tenant, COUNT(*), CAST(SUM(octet_length(arguments)) AS BIGINT) FROM later_calls WHERE failure IS NULL GROUP BY tenant;

-- How often a call was refused that may be taken later.
ALTER TABLE later_calls ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
