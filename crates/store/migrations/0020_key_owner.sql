-- Who is behind a key: the user or key that made it, or whoever is behind that one. Unknown for keys of before, and for
-- those that the platform's own key has made for others.
ALTER TABLE keys ADD COLUMN owner TEXT;
