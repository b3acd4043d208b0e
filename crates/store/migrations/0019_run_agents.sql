-- The agent that a run is one of, where it is not one of a flow. `flow` is its address then, which keys and groups go by.
ALTER TABLE runs ADD COLUMN agent TEXT;
UPDATE runs SET agent = substr(flow, 9) WHERE substr(flow, 1, 8) = 'agent://';
