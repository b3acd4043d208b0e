-- Work that only one process may do at a time, by name: who does it, until when by the clock of the database.
-- `epoch` counts who had it, so that whoever lost a lease without noticing can write nothing any more. A lease
-- that has ended keeps its row for a while, because its epoch must not begin again.
CREATE TABLE leases (
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    until BIGINT NOT NULL,
    CONSTRAINT leases_name PRIMARY KEY (name)
);

-- Search has had leases of its own.
ALTER TABLE search_indexes DROP COLUMN worker;
ALTER TABLE search_indexes DROP COLUMN leased_until;
