#!/usr/bin/env bash
# What the audit takes of a call, in instructions: calls through Gateway::call whose records go into SQLite, less the same
# calls without an audit. Instructions do not depend on what else the machine does.
#
#   FEW=1000 MANY=6000 bench/audit.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
few=${FEW:-1000} many=${MANY:-6000}
command -v valgrind >/dev/null || { echo 'bench/audit.sh: valgrind is not installed: instructions are not counted' >&2; exit 1; }
program=$(cargo bench -q -p runtime --bench audit --no-run --message-format=json |
    sed -n 's/.*"target":{[^}]*"name":"audit".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
count() { # sink kept calls
    SINK=$1 KEEP=$2 CALLS=$3 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
each() { # sink kept: what a call takes, without what the start does
    echo $((($(count "$1" "$2" "$many") - $(count "$1" "$2" "$few")) / (many - few)))
}
none=$(each none 0)
stored=$(each store 0)
kept=$(each store 200)
printf '\n| calls in this process | instructions each | of them the audit | goal |\n|---|---|---|---|\n'
printf '| without an audit | %s | | |\n' "$none"
printf '| in the store | %s | %s | ≤ 8,000 |\n' "$stored" $((stored - none))
printf '| in the store, and kept for the inspector | %s | %s | |\n' "$kept" $((kept - none))
