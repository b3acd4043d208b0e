#!/usr/bin/env bash
# Measures gateways side by side: ./run.sh NAME=URL[,,pid=PID][,,tool=NAME][,,header=K: V]..
# Each gateway must already stand in front of the backends: MCP at 127.0.0.1:9101/mcp, stdio `mcpbench backend-stdio`,
# REST at 127.0.0.1:9102 (KIND=rest). Targets run in turn (A,B,A,B..), ROUNDS times; ratios are taken within a round.
#   KIND=mcp|rest|rest-full   C=1,16,64   SECS=5   ROUNDS=3   METHOD=tools/call|tools/list
set -eu
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
B=${MCPBENCH:-$CARGO_TARGET_DIR/release/mcpbench}
[ -x "$B" ] || cargo build --release --quiet
pids=()
trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}"' EXIT
# serve PORT COMMAND..: starts it unless the port is taken, and sets `pid`
serve() {
  pid=$(ss -ltnpH "sport = :$1" | sed -n 's/.*pid=\([0-9]*\).*/\1/p' | head -1)
  [ -n "$pid" ] && return
  local port=$1; shift
  "$B" "$@" --port "$port" 2>/dev/null & pid=$!
  pids+=("$pid"); sleep 0.3
}
serve 9101 backend-mcp; mcp=$pid
serve 9102 backend-rest; rest=$pid
serve 9103 null-proxy --to 127.0.0.1:9101; null=$pid
serve 9104 null-proxy --to 127.0.0.1:9102; null_rest=$pid
echo "$(date -u +%FT%TZ) $(nproc) cores, load average $(cut -d' ' -f1-3 /proc/loadavg)"; echo
opts=(--c "${C:-1,16,64}" --secs "${SECS:-5}" --rounds "${ROUNDS:-3}" --method "${METHOD:-tools/call}")
path='/users/{n}/orders/7'
case ${KIND:-mcp} in
  mcp) set -- "direct=http://127.0.0.1:9101/mcp,,pid=$mcp" "null-tcp=http://127.0.0.1:9103/mcp,,pid=$null" "$@" ;;
  rest) set -- "direct=http://127.0.0.1:9102$path,,pid=$rest,,method=http" \
    "null-tcp=http://127.0.0.1:9104$path,,pid=$null_rest,,method=http" "$@" ;;
  rest-full) set -- "direct=http://127.0.0.1:9102$path/full,,pid=$rest,,method=http" \
    "null-tcp=http://127.0.0.1:9104$path/full,,pid=$null_rest,,method=http" "$@" ;;
esac
"$B" load "${opts[@]}" "$@"
