-- Fingerprints of the tools a service offers, as JSON: nothing in them is secret.
CREATE TABLE service_pins (
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    service TEXT NOT NULL,
    pins TEXT NOT NULL,
    version BIGINT NOT NULL,
    CONSTRAINT service_pins_service PRIMARY KEY (tenant, type, service),
    CONSTRAINT service_pins_of FOREIGN KEY (tenant, type, service)
        REFERENCES services (tenant, type, id) ON DELETE CASCADE
);
