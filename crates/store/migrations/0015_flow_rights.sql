-- What whoever published a version might reach then, as JSON; NULL is: as managers do, of versions older than this.
ALTER TABLE flow_versions ADD COLUMN rights TEXT;
