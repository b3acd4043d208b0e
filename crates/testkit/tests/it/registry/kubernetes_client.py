"""Works with the stand-in for Kubernetes as with Kubernetes.

python kubernetes_client.py URL            tries lists and watches, prints a version
python kubernetes_client.py URL VERSION    expects that the version is too old
"""

import sys
import threading

from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

configuration = client.Configuration(host=sys.argv[1], api_key={"authorization": "Bearer right"})
api = client.DiscoveryV1Api(client.ApiClient(configuration))
SELECTOR = {"label_selector": "kubernetes.io/service-name=web"}


def slice_of(name, service, address, ready=True):
    return client.V1EndpointSlice(
        metadata=client.V1ObjectMeta(name=name, labels={"kubernetes.io/service-name": service}),
        address_type="IPv4",
        endpoints=[client.V1Endpoint(addresses=[address], conditions=client.V1EndpointConditions(ready=ready))],
        ports=[client.DiscoveryV1EndpointPort(name="http", port=8080, protocol="TCP")],
    )


def watched(version, seconds):
    events = watch.Watch().stream(
        api.list_namespaced_endpoint_slice, "default", resource_version=version, timeout_seconds=seconds,
        allow_watch_bookmarks=True, **SELECTOR)
    return [(event["type"], event["object"].metadata.name) for event in events]


if len(sys.argv) > 2:
    try:
        raise SystemExit(f"an old version was taken: {watched(sys.argv[2], 1)}")
    except ApiException as error:
        assert error.status == 410, error
    raise SystemExit(0)

for number in range(3):
    api.create_namespaced_endpoint_slice("default", slice_of(f"web-{number}", "web", f"10.0.0.{number}"))
api.create_namespaced_endpoint_slice("default", slice_of("other", "other", "10.0.1.1"))
api.create_namespaced_endpoint_slice("elsewhere", slice_of("far", "web", "10.0.2.1"))

# Pages, and only what is asked for.
names, token = [], None
while True:
    page = api.list_namespaced_endpoint_slice("default", limit=2, _continue=token, **SELECTOR)
    names += [item.metadata.name for item in page.items]
    token = page.metadata._continue
    if not token:
        break
assert names == ["web-0", "web-1", "web-2"], names
version = page.metadata.resource_version

# What happens behind a version is told to whoever watches behind it, and ends when it is to.
def change():
    api.replace_namespaced_endpoint_slice("web-1", "default", slice_of("web-1", "web", "10.0.0.1", False))
    api.delete_namespaced_endpoint_slice("web-2", "default")
    api.create_namespaced_endpoint_slice("default", slice_of("web-3", "web", "10.0.0.3"))


timer = threading.Timer(0.3, change)
timer.start()
events = watched(version, 2)
timer.join()
assert events == [("MODIFIED", "web-1"), ("DELETED", "web-2"), ("ADDED", "web-3")], events
assert watched(version, 1) == events
assert [event for event in watched(None, 1)] == [("ADDED", "web-0"), ("ADDED", "web-1"), ("ADDED", "web-3")]
modified = api.list_namespaced_endpoint_slice("default", **SELECTOR).items[1]
assert modified.endpoints[0].conditions.ready is False, modified

stranger = client.DiscoveryV1Api(client.ApiClient(client.Configuration(host=sys.argv[1])))
try:
    stranger.list_namespaced_endpoint_slice("default")
    raise SystemExit("a stranger was let in")
except ApiException as error:
    assert error.status == 401, error
print(version)
