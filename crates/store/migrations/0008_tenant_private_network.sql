-- Whether a tenant's services may say themselves that they call private addresses; NULL is: as long as it is alone.
ALTER TABLE tenants ADD COLUMN allow_private_network BIGINT;
