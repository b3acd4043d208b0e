-- Blocks instead of rows: calls of a tenant that began within a second stand in one row, a line of JSON for each, so that
-- a call costs what its line costs. The record of changes has the same form, each record in a row of its own.
ALTER TABLE audit RENAME TO audit_before;
CREATE TABLE audit (
    tenant TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    id TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    records TEXT NOT NULL,
    CONSTRAINT audit_blocks PRIMARY KEY (tenant, last_at, id)
);
INSERT INTO audit (tenant, last_at, id, first_at, calls, failed, records)
SELECT tenant, MAX(at), MIN(id), MIN(at), COUNT(*), SUM(CASE WHEN status = 'ok' THEN 0 ELSE 1 END),
    STRING_AGG(json_build_object('id', id, 'at', at, 'caller', caller, 'tool', tool, 'service', service, 'status', status,
        'arguments', arguments, 'details', details::json)::text, E'\n') || E'\n'
FROM (SELECT *, (ROW_NUMBER() OVER (PARTITION BY tenant, second ORDER BY at, id) - 1) / 256 AS block FROM
    (SELECT *, at / 1000 AS second FROM audit_before) AS timed) AS numbered
GROUP BY tenant, second, block;
DROP TABLE audit_before;
ALTER TABLE management RENAME TO management_before;
CREATE TABLE management (
    tenant TEXT NOT NULL,
    last_at BIGINT NOT NULL,
    id TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    records TEXT NOT NULL,
    CONSTRAINT management_blocks PRIMARY KEY (tenant, last_at, id)
);
INSERT INTO management (tenant, last_at, id, first_at, calls, failed, records)
SELECT tenant, MAX(at), MIN(id), MIN(at), COUNT(*), SUM(CASE WHEN status = 'ok' THEN 0 ELSE 1 END),
    STRING_AGG(json_build_object('id', id, 'at', at, 'caller', caller, 'tool', tool, 'service', service, 'status', status,
        'arguments', arguments, 'details', details::json)::text, E'\n') || E'\n'
FROM (SELECT *, (ROW_NUMBER() OVER (PARTITION BY tenant, second ORDER BY at, id) - 1) / 1 AS block FROM
    (SELECT *, at / 1000 AS second FROM management_before) AS timed) AS numbered
GROUP BY tenant, second, block;
DROP TABLE management_before;
