#!/usr/bin/env bash
# Durable runs beside the same yardsticks, in one run: a bare durable commit, DBOS (PyPI) and Restate (npm). Prints Markdown.
#   NODES=200  ROUNDS=3  PARKED=100000  PEERS=~/.cache/mcp-all-in-one/peers  PROFILE=bench  SKIP_PEERS=1
# Peers are installed into $PEERS once; one that cannot be had is named loudly and left out. DBOS is measured on PostgreSQL
# where MCP_TEST_POSTGRES_URL is set (scripts/postgres run bench/flows.sh), else on SQLite. How many times a peer's steps we
# do is told for each of our databases.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd .. && pwd)
peers=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-all-in-one/peers}/flows
export NODES=${NODES:-200} ROUNDS=${ROUNDS:-3}
work=$(mktemp -d) pids=()
finish() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
missing() { echo "**MISSING PEER** $1"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

echo "$(date -u +%FT%TZ), $(nproc) cores, load average $(cut -d' ' -f1-3 /proc/loadavg)"
echo; echo "## Tool nodes per second against bare durable commits"; echo
cargo bench --quiet --profile "${PROFILE:-bench}" --manifest-path "$root/Cargo.toml" -p runtime --bench flows | tee "$work/ours"

[ -z "${SKIP_PEERS:-}" ] || exit 0
mkdir -p "$peers"
echo; echo "## The same chain of steps elsewhere"; echo
# Reads `peer runs steps/s` and adds how many times as many we do, on each database with as many runs.
compare() { # target
  awk -v target="$1" 'FNR == NR { if ($4 + 0 > 0 && $2 ~ /^(1|64)$/) ours[$2] = ours[$2] " " $1 " " $4; next }
    { count = split(ours[$2], of, " ")
      for (at = 1; at < count; at += 2)
        printf "%-8s %2d runs  %8d steps/s  we on %-8s %8d nodes/s  %6.1f x  (target %s: %s)\n", $1, $2, $3, of[at], of[at + 1],
          of[at + 1] / $3, target, of[at + 1] / $3 >= target ? "met" : "MISSED" }' "$work/ours" -
}

dbos=$peers/dbos/bin/python
[ -x "$dbos" ] || { python3 -m venv "$peers/dbos" && "$peers/dbos/bin/pip" -q install 'dbos==3.3.0' 'psycopg[binary]'; } || true
if [ -x "$dbos" ] && "$dbos" -c 'import dbos' 2>/dev/null; then
  url=sqlite:///$work/dbos.sqlite
  if [ -n "${MCP_TEST_POSTGRES_URL:-}" ]; then url=${MCP_TEST_POSTGRES_URL%/*}/dbos_bench_$$; fi
  "$dbos" peers/dbos_flow.py "$url" "$NODES" 2>"$work/dbos.log" | compare 10 || { missing dbos; tail -3 "$work/dbos.log"; }
else
  missing dbos
fi

if [ ! -d "$peers/restate/node_modules" ]; then
  npm install --silent --prefix "$peers/restate" @restatedev/restate-server@1.7.12 @restatedev/restate-sdk node@22 >/dev/null 2>&1 || true
fi
server=$peers/restate/node_modules/.bin/restate-server
if [ -x "$server" ]; then
  ingress=$(free_port) admin=$(free_port) service=$(free_port) node=$(free_port)
  cp peers/restate_flow.mjs "$peers/restate/"
  RESTATE_BASE_DIR=$work/restate RESTATE_INGRESS__BIND_ADDRESS=127.0.0.1:$ingress RESTATE_ADMIN__BIND_ADDRESS=127.0.0.1:$admin \
    RESTATE_BIND_ADDRESS=127.0.0.1:$node RESTATE_LISTEN_MODE=tcp "$server" >"$work/restate.log" 2>&1 &
  pids+=($!)
  for _ in $(seq 100); do curl -fs "http://127.0.0.1:$admin/health" >/dev/null && break; sleep 0.2; done
  (cd "$peers/restate" && RESTATE_LOGGING=ERROR timeout 300 node_modules/.bin/node restate_flow.mjs "http://127.0.0.1:$ingress" "http://127.0.0.1:$admin" "$service" "$NODES") | compare 2 ||
    { missing restate-server; tail -3 "$work/restate.log"; }
else
  missing restate-server
fi
