"""Steps per second of DBOS, with one workflow and with 64: python dbos_flow.py DATABASE_URL STEPS"""

import sys
import time

from dbos import DBOS, DBOSConfig

url, steps = sys.argv[1], int(sys.argv[2])
config: DBOSConfig = {"name": "bench", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"}
DBOS(config=config)


@DBOS.step()
def echo(item: int) -> int:
    return item


@DBOS.workflow()
def chain(count: int) -> int:
    for item in range(count):
        echo(item)
    return count


DBOS.launch()
for runs in (1, 64):
    count = steps if runs == 1 else max(1, steps // 8)
    begun = time.perf_counter()
    handles = [DBOS.start_workflow(chain, count) for _ in range(runs)]
    for handle in handles:
        handle.get_result()
    print(f"dbos {runs} {runs * count / (time.perf_counter() - begun):.0f}", flush=True)
DBOS.destroy()
