#!/usr/bin/env bash
# Everything that the project promises about speed, in one run and beside the same yardsticks: the direct connection,
# a TCP relay that does nothing, and the peers. Prints Markdown. Run by `make bench`.
#   C=1,16,64  SECS=3  ROUNDS=3  PEERS=.peers  ONLY="echo full list stdio pipe rest memory"
# Peers come from `bench/peers.sh install`; a peer that is missing is named loudly and left out.
set -eu
cd "$(dirname "$0")"
root=$(cd .. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
export C=${C:-1,16,64} SECS=${SECS:-3} ROUNDS=${ROUNDS:-3} CARGO_TARGET_DIR=$target
ONLY=${ONLY:-echo full list stdio pipe rest memory}
if [ -z "${SKIP_BUILD:-}" ]; then
  cargo build --quiet --release --features full --manifest-path "$root/Cargo.toml" --bin mcp-all-in-one
  cargo build --quiet --release
fi
bin=${BIN:-$target/release/mcp-all-in-one}
export MCPBENCH=${MCPBENCH:-$target/release/mcpbench}
B=$MCPBENCH
work=$(mktemp -d) pids=() key=bench-bench-bench-bench
export OUT=$work PEERS=${PEERS:-$PWD/.peers}
finish() {
  [ -f "$work/peers.pids" ] && mapfile -t -O "${#pids[@]}" pids <"$work/peers.pids"
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
wants() { [[ " $ONLY " == *" $1 "* ]]; }

# spawn COMMAND..: starts it and sets `pid`
spawn() { "$@" >/dev/null 2>&1 & pid=$!; pids+=("$pid"); }

# gateway NAME PORT SERVICES: starts ours with these services (the inside of mcpServers) and sets `pid`
gateway() {
  mkdir -p "$work/$1"
  printf '{"mcpServers":{%s}}' "$3" >"$work/$1/mcp.json"
  MCP_ALL_IN_ONE_HOME=$work/$1 MCP_ALL_IN_ONE_ADMIN_TOKEN=$key spawn "$bin" --log-level warn serve \
    --listen "127.0.0.1:$2" --mcp-config "$work/$1/mcp.json" --allow-private-network
  for _ in $(seq 200); do curl -fs "http://127.0.0.1:$2/readyz" >/dev/null && return; sleep 0.1; done
  echo "the gateway did not start" >&2; exit 1
}

stdio() { printf '"%s":{"command":"%s","args":["backend-stdio"]}' "$1" "$B"; }
rss() { awk '/VmRSS/ {print $2}' "/proc/$1/status"; }
# peers KIND: words for the load client
peers() { [ -f "$work/$1.targets" ] && cat "$work/$1.targets"; }

spawn "$B" backend-mcp --port 9101; mcp=$pid
spawn "$B" backend-rest --port 9102; rest=$pid
spawn "$B" null-proxy --port 9103 --to 127.0.0.1:9101; null=$pid
spawn "$B" null-proxy --port 9104 --to 127.0.0.1:9102; null_rest=$pid
spawn "$B" backend-mcp --port 9105 --tools 1000; many=$pid
spawn "$B" null-proxy --port 9106 --to 127.0.0.1:9105; null_many=$pid
sleep 0.5
gateway main 9110 "\"b\":{\"type\":\"http\",\"url\":\"http://127.0.0.1:9101/mcp\"},$(stdio s)"; ours=$pid
gateway many 9111 '"b":{"type":"http","url":"http://127.0.0.1:9105/mcp"}'; ours_many=$pid
url=http://127.0.0.1:9110/mcp header="header=Authorization: Bearer $key"
tool() {
  printf '{"id":"%s","description":"An order.","endpoint":"%s","response_template":"Order {{ .id }}: {{ .status }} {{ toJson . }}","parameters":[{"name":"id","position":"path","required":true},{"name":"oid","position":"path","required":true}]}' "$1" "$2"
}
curl -fsS -H 'X-API-Key: '"$key" http://127.0.0.1:9110/api/v1/services -o /dev/null -d "{\"type\":\"api\",\"id\":\"shop\",
  \"config\":{\"base_url\":\"http://127.0.0.1:9102\",\"allow_private_network\":true},
  \"tools\":[$(tool order '/users/{id}/orders/{oid}'),$(tool full '/users/{id}/orders/{oid}/full')]}"
ONLY_PEERS=${ONLY_PEERS:-mcp-proxy-rs supergateway fastmcp-openapi} ./peers.sh >"$work/peers.log" 2>&1 || true
grep -E '^not installed|never became ready' "$work/peers.log" | sed 's/^/**MISSING PEER** /; s/$/ (bench\/peers.sh install)/' || true

load() { "$B" load --c "$C" --secs "$SECS" --rounds "$ROUNDS" "$@"; }
echo "$(date -u +%FT%TZ), $(nproc) cores, load average $(cut -d' ' -f1-3 /proc/loadavg)"

if wants echo; then
  echo; echo "## tools/call echo over Streamable HTTP, policy and audit on"; echo
  mapfile -t others < <(peers mcp)
  load "direct=http://127.0.0.1:9101/mcp,,pid=$mcp" "null-tcp=http://127.0.0.1:9103/mcp,,pid=$null" \
    "ours=$url,,pid=$ours,,tool=b__echo,,$header" "${others[@]}"
fi
if wants full; then
  echo; echo "## tools/call with 100 KB of structured result"; echo
  mapfile -t others < <(peers mcp | sed 's/tool=b_echo/tool=b_full/; s/tool=echo/tool=full/')
  load "direct=http://127.0.0.1:9101/mcp,,pid=$mcp,,tool=full" \
    "null-tcp=http://127.0.0.1:9103/mcp,,pid=$null,,tool=full" "ours=$url,,pid=$ours,,tool=b__full,,$header" "${others[@]}"
fi
if wants list; then
  echo; echo "## tools/list of 1,000 tools"; echo
  load --method tools/list "direct=http://127.0.0.1:9105/mcp,,pid=$many" \
    "null-tcp=http://127.0.0.1:9106/mcp,,pid=$null_many" "ours=http://127.0.0.1:9111/mcp,,pid=$ours_many,,$header"
fi
if wants stdio; then
  echo; echo "## tools/call echo: HTTP → gateway → stdio service (direct and null are HTTP → HTTP)"; echo
  mapfile -t others < <(peers stdio)
  load "direct=http://127.0.0.1:9101/mcp,,pid=$mcp" "null-tcp=http://127.0.0.1:9103/mcp,,pid=$null" \
    "ours=$url,,pid=$ours,,tool=s__echo,,$header" "${others[@]}"
fi
if wants pipe; then
  echo; echo "## tools/call echo: stdio → gateway → stdio service, A/B/A/B"; echo
  printf '{"mcpServers":{%s}}' "$(stdio s)" >"$work/pipe.json"
  for _ in $(seq "$ROUNDS"); do
    echo "direct: $("$B" load-stdio --secs "$SECS" -- "$B" backend-stdio | tr '\n' ' ')"
    echo "ours: $(MCP_ALL_IN_ONE_HOME=$work "$B" load-stdio --secs "$SECS" --tool s__echo -- "$bin" stdio --silent --mcp-config "$work/pipe.json" | tr '\n' ' ')"
  done
fi
if wants rest; then
  args='args={"id":"{n}","oid":"7"}' path='/users/{n}/orders/7'
  mapfile -t others < <(peers rest)
  echo; echo "## tools/call → HTTP tool with a template, 1 KB answers"; echo
  load "direct=http://127.0.0.1:9102$path,,pid=$rest,,method=http" "null-tcp=http://127.0.0.1:9104$path,,pid=$null_rest,,method=http" \
    "ours=$url,,pid=$ours,,tool=shop__order,,$header,,$args" "${others[@]}"
  echo; echo "## tools/call → HTTP tool with a template, 100 KB answers"; echo
  load "direct=http://127.0.0.1:9102$path/full,,pid=$rest,,method=http" \
    "null-tcp=http://127.0.0.1:9104$path/full,,pid=$null_rest,,method=http" "ours=$url,,pid=$ours,,tool=shop__full,,$header,,$args"
fi
if wants memory; then
  echo; echo "## Memory and start"; echo
  ten=$(for n in $(seq 10); do stdio "s$n"; echo -n ,; done)
  gateway ten 9112 "${ten%,}"; idle=$pid
  curl -fsS -H 'X-API-Key: '"$key" 'http://127.0.0.1:9112/api/v1/mcp/tools?limit=1000' -o /dev/null
  sleep 3
  echo "- idle with 10 stdio services: $(rss "$idle") KB"
  for streams in "" --streams; do
    "$B" sessions --url http://127.0.0.1:9112/mcp --pid "$idle" --header "Authorization: Bearer $key" --count 1000 $streams
  done
  one=$(printf '"slow":{"command":"sh","args":["-c","sleep 1; exec %s backend-stdio"]}' "$B")
  twenty=$(for n in $(seq 20); do printf '"slow%s":{"command":"sh","args":["-c","sleep 1; exec %s backend-stdio"]},' "$n" "$B"; done)
  for services in "$one" "${twenty%,}"; do
    printf '{"mcpServers":{%s}}' "$services" >"$work/start.json"
    said=$(MCP_ALL_IN_ONE_HOME=$work "$B" load-stdio --secs 0.1 --warmup 0 --window 1 --tool "slow$([ "$services" = "$one" ] || echo 20)__echo" -- "$bin" stdio --silent --mcp-config "$work/start.json" | sed -n 1p)
    echo "- start to the first tools/list with $(grep -o slow "$work/start.json" | wc -l) stdio services that each take 1 s: $said"
  done
fi
