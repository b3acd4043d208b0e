#!/usr/bin/env bash
# HTTP tools through our MCP door beside the same API called directly and a null TCP proxy, in one run.
#   C=1,16,64  SECS=5  ROUNDS=3
set -eu
cd "$(dirname "$0")"
root=$(cd .. && pwd)
[ -n "${SKIP_BUILD:-}" ] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --bin mcp-all-in-one
bin=${CARGO_TARGET_DIR:-$root/target}/release/mcp-all-in-one
home=$(mktemp -d)
url=http://127.0.0.1:9110
MCP_ALL_IN_ONE_HOME=$home MCP_ALL_IN_ONE_ADMIN_TOKEN=bench "$bin" --log-level warn serve --listen 127.0.0.1:9110 >/dev/null &
pid=$!
trap 'kill $pid; rm -rf "$home"' EXIT
for _ in $(seq 100); do curl -fs $url/readyz >/dev/null && break; sleep 0.1; done
tool() {
  printf '{"id":"%s","description":"An order.","endpoint":"%s","response_template":"Order {{ .orderId }}: {{ .status }} {{ toJson . }}","parameters":[{"name":"id","position":"path","required":true},{"name":"oid","position":"path","required":true}]}' "$1" "$2"
}
curl -fsS -H 'X-API-Key: bench' $url/api/v1/services -o /dev/null -d "{\"type\":\"api\",\"id\":\"shop\",
  \"config\":{\"base_url\":\"http://127.0.0.1:9102\",\"allow_private_network\":true},
  \"tools\":[$(tool order '/users/{id}/orders/{oid}'),$(tool full '/users/{id}/orders/{oid}/full')]}"
header='header=Authorization: Bearer bench'
args='args={"id":"{n}","oid":"7"}'
echo "## 1 KB answers"
KIND=rest ./run.sh "ours=$url/mcp,,pid=$pid,,tool=shop__order,,$header,,$args"
echo "## 100 KB answers"
KIND=rest-full ./run.sh "ours=$url/mcp,,pid=$pid,,tool=shop__full,,$header,,$args"
