# SPDX-License-Identifier: GPL-2.0-only
"""The live page and its service through a quarter of an hour of a real load at 1 s intervals: once the history of five
minutes is full, neither grows. 'make test-soak', not part of 'make test'; SOAK_SECONDS=1800 for more.
"""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/serve"), str(ROOT / "tests/host")]

from devices import Delta, loop  # noqa: E402
from load import Fio, Process, Unseen  # noqa: E402
from service import Serve  # noqa: E402

HISTORY_S, STEP_S = 300, 10
SECONDS = int(os.environ.get("SOAK_SECONDS", HISTORY_S + 600))
MIB = 2 ** 20
CELL_BYTES = 16  # two numbers in the page's heap; their digits in the service


class Page(Process):
    """page.mjs, and what it saw of the page; rss_kib is what the service held then."""

    def __init__(self, serve):
        self.serve, self.looks, self.said = serve, [], []
        super().__init__([os.environ.get("NODE", "node"), ROOT / "tests/soak/page.mjs", f"http://127.0.0.1:{serve.port}/", SECONDS])

    def take(self, line):
        if not line.startswith("{"):  # words of node's test runner
            return self.said.append(line)
        self.looks.append(json.loads(line) | {"rss_kib": self.serve.rss_kib()})
        print(self.looks[-1], flush=True)

    def watch(self):
        assert self.process.wait(SECONDS + 300) == 0 == self.wait(), "".join(self.said)
        return self.looks


def least(looks, key, begin, end):
    """Short-lived objects come and go; the minimum of a minute is what is really kept."""
    return min(look[key] for look in looks[begin // STEP_S:end // STEP_S])


def test_page_and_service_do_not_grow():
    with loop() as device, Unseen() as unseen, Serve("--dev", device.name) as serve:
        serve.until(lambda: serve.snapshot(), "a first interval")
        before = Delta(device)
        with Fio(device, rw="randrw", ioengine="io_uring", iodepth=8, rate_iops="3000,1000", time_based=1, runtime=SECONDS + 600):
            with Page(serve) as page:
                looks = page.watch()
        ios = before()["ios"]
        assert ios > 3000 * SECONDS
        hidden = unseen.of(device)
        serve.until(lambda: serve.snapshot()[0]["accounting"]["completed"] == ios - hidden, "the last IOs")
    assert len(looks) == SECONDS // STEP_S + 1
    full = HISTORY_S + STEP_S
    assert all(abs(look["intervals"] - HISTORY_S) <= 2 for look in looks if look["passed_s"] > full)
    # The history of a load whose latencies spread more has more cells to hold.
    spread = max(0, least(looks, "cells", SECONDS - 60, SECONDS) - least(looks, "cells", full, full + 60))
    for key, slack in (("heap_bytes", MIB / 2 + CELL_BYTES * spread), ("nodes", 100), ("listeners", 10), ("rss_kib", 512 + CELL_BYTES * spread / 1024)):
        first, last = least(looks, key, full, full + 60), least(looks, key, SECONDS - 60, SECONDS)
        print(f"{key}: {first}, then {last}; {spread} more cells")
        assert last < first + slack, key
