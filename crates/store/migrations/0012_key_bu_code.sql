-- The unit of its tenant that a key works for: what its runs see as `buCode`.
ALTER TABLE keys ADD COLUMN bu_code TEXT;
