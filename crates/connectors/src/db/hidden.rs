//! What makes PostgreSQL call a function that a statement does not name: operators, casts, and checks of domains.
//!
//! No text tells which of them is meant: that depends on the types of values. So the catalog is asked for those whose function
//! is volatile, hardly ever any, and whoever may use one of them is refused. What the server itself came with, numbers below
//! 16384, has none.

/// - An operator is used where its signs stand, and the common ones also by words such as LIKE, IN or ORDER BY.
/// - A cast that is implicit, or makes a text, which we do to count bytes, or a json, which `to_jsonb` and its like do with values
///   of any type, can happen anywhere; others where something is converted.
/// - A domain is met by its name, or in whatever is built of it: arrays, rows, other domains, and functions that take or give such.
///
/// `$5` are the names of the statement, `$6` its signs, `$7` whether it converts; whoever may write may use what the owner made.
pub(super) const HIDDEN: &str = "SELECT * FROM (WITH RECURSIVE names AS (SELECT lower(x.name::name::text) AS name \
     FROM json_array_elements_text($5::json) AS x(name)), \
     checks AS (SELECT DISTINCT k.contypid AS oid FROM pg_catalog.pg_constraint k \
     CROSS JOIN LATERAL regexp_matches(k.conbin::text, ':(funcid|opno) (\\d+)', 'g') AS m \
     LEFT JOIN pg_catalog.pg_operator o ON m[1] = 'opno' AND o.oid = m[2]::oid \
     JOIN pg_catalog.pg_proc p ON p.oid = CASE m[1] WHEN 'opno' THEN o.oprcode ELSE m[2]::oid END \
     WHERE k.contypid <> 0 AND p.provolatile = 'v' AND k.oid >= 16384), carriers AS (SELECT oid FROM checks UNION SELECT t.oid FROM carriers c JOIN pg_catalog.pg_type t \
     ON t.typelem = c.oid OR t.typbasetype = c.oid OR t.typrelid IN (SELECT a.attrelid FROM pg_catalog.pg_attribute a \
     WHERE a.atttypid = c.oid AND a.attnum > 0) \
     OR t.oid IN (SELECT r.rngtypid FROM pg_catalog.pg_range r WHERE r.rngsubtype = c.oid)) \
     SELECT o.oprname::text AS name, true AS is_volatile, NULL::text AS extension, 'operator' AS what \
     FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode \
     WHERE p.provolatile = 'v' AND (position(o.oprname::text in $6::text) > 0 \
     OR o.oprname::text IN (SELECT b.oprname::text FROM pg_catalog.pg_operator b WHERE b.oid < 16384)) AND o.oid >= 16384 UNION ALL SELECT format_type(k.castsource, -1) || ' AS ' || format_type(k.casttarget, -1), true, NULL, 'cast' \
     FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_proc p ON p.oid = k.castfunc \
     JOIN pg_catalog.pg_type t ON t.oid = k.casttarget \
     WHERE p.provolatile = 'v' AND (k.castcontext = 'i' OR k.casttarget IN (25, 114) OR $7::boolean \
     OR lower(t.typname::text) IN (SELECT name FROM names)) AND k.oid >= 16384 UNION ALL SELECT t.typname::text, true, NULL, 'domain' \
     FROM carriers c JOIN pg_catalog.pg_type t ON t.oid = c.oid LEFT JOIN pg_catalog.pg_class r ON r.oid = t.typrelid \
     WHERE ((r.oid IS NULL OR r.relkind = 'c' OR $7::boolean) AND lower(t.typname::text) IN (SELECT name FROM names)) \
     OR EXISTS (SELECT 1 FROM pg_catalog.pg_proc p WHERE lower(p.proname::text) IN (SELECT name FROM names) \
     AND (c.oid = ANY (p.proargtypes::oid[]) OR (p.prorettype = c.oid AND $7::boolean)))) AS hidden WHERE NOT $4::boolean";
