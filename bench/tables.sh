#!/usr/bin/env bash
# Table operations on 10 MB and 50,000 objects, and the same query with Python's jmespath in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TABLE_DOCUMENT=$work/document.json cargo bench -p connectors --bench table | tee "$work/ours"
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check jmespath==1.0.1
"$work/venv/bin/python" - "$work/document.json" "$work/ours" <<'PYTHON'
import json, jmespath, statistics, sys, time

with open(sys.argv[1]) as file:
    data = json.load(file)["orders"]
query = jmespath.compile("[?status=='paid' && quantity > `11`].{id: id, total: total}")
times = []
for _ in range(15):
    begun = time.perf_counter()
    query.search(data)
    times.append((time.perf_counter() - begun) * 1000)
theirs = statistics.median(times)
line = next(line for line in open(sys.argv[2]) if line.startswith("table/query_data filter"))
ours = float(line.split("p50")[1].split()[0])
print(f"python jmespath filter      p50 {theirs:9.3f} ms")
print(f"ours is {theirs / ours:.1f} times as fast, with the answer written as JSON")
PYTHON
