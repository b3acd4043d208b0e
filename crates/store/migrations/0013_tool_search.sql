-- How doors tell of their tools, as JSON; NULL is: as the server does, or all of them at an instance's door.
ALTER TABLE tenants ADD COLUMN tool_search TEXT;
ALTER TABLE instances ADD COLUMN tool_search TEXT;
