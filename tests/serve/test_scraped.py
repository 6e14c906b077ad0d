# SPDX-License-Identifier: GPL-2.0-only
"""End to end: fio on a device, the service, two real servers that scrape it, and their queries."""
import contextlib
import json
import pathlib
import subprocess
import sys
import time

import pytest
from load import BLKLAT, DEADLINE_S, Fio, Unseen, fio, missing, wait_until
from recorder import Recorder
from service import Serve

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "prom"))
import server  # noqa: E402

SECONDS = 8
# For each kind of histogram the queries for IOs and buckets, and the buckets' width.
KINDS = {
    "native": ("histogram_count(blklat_io_latency_seconds%s)", "blklat_io_latency_seconds%s", 2 ** (1 / 8)),
    "classic": ("blklat_io_latency_seconds_count%s", "blklat_io_latency_seconds_bucket%s", 2 ** (1 / 2)),
}


@pytest.fixture
def prometheus():
    """Starts a server that takes native histograms, or one that does not."""
    with contextlib.ExitStack() as undo:
        def start(address, native):
            p = server.Prometheus([address], native=native)
            undo.callback(p.close)
            wait_until(lambda: p.query("up") and p.value("up") == 1, "scrape", every_s=0.1)
            return p
        yield start


def own_p99(file):
    r = subprocess.run([BLKLAT, "report", "--format", "json", file], capture_output=True, check=True, timeout=60)
    [watch] = json.loads(r.stdout)["runs"][0]["watches"]
    return {o["op"]: o["total"]["latency_ns"]["p99"] for o in watch["ops"]}


def total_ios(p, query):
    return sum(n for _, n in p.query(query % ""))


def test_what_fio_did(loop, prometheus, tmp_path):
    load = {"rw": "randrw", "iodepth": 4, "ioengine": "io_uring", "runtime": SECONDS, "time_based": 1, "rate_iops": "3000,1000"}
    with Unseen() as unseen, Serve("--dev", loop.name) as serve:
        servers = {kind: prometheus(f"127.0.0.1:{serve.port}", kind == "native") for kind in KINDS}
        # So that each series exists, and its rate covers everything that follows.
        began = time.monotonic()
        for rw in ("randread", "randwrite"):
            fio(loop, rw=rw, number_ios=1)
        for kind, p in servers.items():
            wait_until(lambda p=p, kind=kind: len(p.query(KINDS[kind][0] % "")) == 2, "the first IOs", every_s=0.1)
        # blklat's own figures of the same IOs, by a separate capture.
        with Recorder(loop, tmp_path / "run.blklat", "--quiet", interval=1) as recorder, Fio(loop, **load) as f:
            f.process.wait(2 * SECONDS + DEADLINE_S)
            ios = 2 + sum(f.result().ios(op) for op in ("read", "write"))
            assert recorder.stop() == 0, recorder.stderr
        [line] = serve.later_snapshot()
        a = line["accounting"]
        assert missing(a) == unseen.of(loop)
        assert a["kernel_ios"] == ios == a["started"]
        want = own_p99(recorder.file)
        for kind, p in servers.items():
            count, buckets, width = KINDS[kind]
            wait_until(lambda: total_ios(p, count) >= a["completed"], "the last IOs", every_s=0.1)
            assert total_ios(p, count) == a["completed"], (kind, a)
            whole = f"{time.monotonic() - began + 5:.0f}s"
            for op in ("read", "write"):
                series = buckets % f'{{op="{op}"}}'
                for asked in (series, f"rate({series}[{whole}])"):
                    got = p.value(f"histogram_quantile(0.99, {asked})") * 1e9
                    assert 1 / width < got / want[op] < width, (kind, asked, got, want)
            p.assert_scrapes()
