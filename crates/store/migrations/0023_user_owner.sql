-- Who is behind a user: whoever made it, or whoever is behind that one. Unknown for users of before, and for those that an
-- admin of the platform has made for others.
ALTER TABLE users ADD COLUMN owner TEXT;
