-- What the work of a key is, so that other work under the same key is noticed; '' where nobody compares.
ALTER TABLE once_results ADD COLUMN digest TEXT NOT NULL DEFAULT '';
