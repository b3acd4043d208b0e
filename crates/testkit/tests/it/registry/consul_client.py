"""Works with the stand-in for Consul as with Consul: python consul_client.py HOST PORT."""

import sys
import threading
import time

import consul

client = consul.Consul(host=sys.argv[1], port=int(sys.argv[2]), token="right")


def ports(**selection):
    index, entries = client.health.service("web", **selection)
    assert int(index) > 0, index
    return int(index), sorted(entry["Service"]["Port"] for entry in entries)


# Nobody at first, and whoever is not let in is told.
assert ports(passing=True)[1] == []
stranger = consul.Consul(host=sys.argv[1], port=int(sys.argv[2]))
try:
    stranger.health.service("web")
    raise SystemExit("a stranger was let in")
except consul.ACLPermissionDenied:
    pass

assert client.agent.service.register("web", service_id="web-1", address="10.0.0.1", port=81, tags=["v2"])
index, found = ports(passing=True)
assert found == [81], found

# A query that has seen everything waits for news, and no longer than it wants to.
begun = time.monotonic()
same, found = ports(passing=True, index=index, wait="1s")
assert 0.9 < time.monotonic() - begun < 3 and (same, found) == (index, [81]), (same, found)
timer = threading.Timer(0.3, lambda: client.agent.service.register("web", service_id="web-2", address="10.0.0.2", port=82))
timer.start()
begun = time.monotonic()
later, found = ports(passing=True, index=index, wait="20s")
timer.join()
assert time.monotonic() - begun < 10 and later > index and found == [81, 82], (later, found)

# Tags, checks, and leaving.
assert ports(tag="v2")[1] == [81]
assert client.agent.check.ttl_fail("service:web-1")
assert ports(passing=True)[1] == [82] and ports()[1] == [81, 82]
assert client.agent.check.ttl_pass("service:web-1")
assert ports(passing=True)[1] == [81, 82]
assert client.agent.service.deregister("web-2")
assert ports()[1] == [81]
_, entries = client.health.service("web")
assert entries[0]["Service"]["Weights"] == {"Passing": 1, "Warning": 1} and entries[0]["Node"]["Address"], entries
