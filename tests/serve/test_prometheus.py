# SPDX-License-Identifier: GPL-2.0-only
"""The whole way: fio on a device, the service, two real servers that scrape it for a minute, their queries."""
import contextlib
import json
import pathlib
import subprocess
import sys
import time

import pytest
from load import BLKLAT, Fio, assert_few_missing
from service import Serve

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "prom"))
import server  # noqa: E402

SECONDS = 60
# How each kind is asked for its IOs and its buckets, and how wide those are.
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
            server.wait_for("scrape", lambda: p.query("up") and p.value("up") == 1)
            return p
        yield start


def own_p99(file):
    r = subprocess.run([BLKLAT, "report", "--format", "json", file], capture_output=True, check=True, timeout=60)
    [watch] = json.loads(r.stdout)["runs"][0]["watches"]
    return {o["op"]: o["total"]["latency_ns"]["p99"] for o in watch["ops"]}



def test_a_minute_of_fio(loop, prometheus, tmp_path):
    file = tmp_path / "run.blklat"
    load = Fio(loop, rw="randrw", iodepth=4, ioengine="io_uring", runtime=SECONDS, time_based=1, rate_iops="3000,1000")
    # The same IOs by a capture of its own: what blklat itself says of them.
    with load, Serve("--dev", loop.name) as serve:
        servers = {kind: prometheus(f"127.0.0.1:{serve.port}", kind == "native") for kind in KINDS}
        with subprocess.Popen([BLKLAT, "record", "--quiet", "--dev", loop.name, "-o", file]) as recorder:
            load.process.wait(2 * SECONDS)
            f = load.result()
            recorder.terminate()
        assert recorder.returncode == 0
        time.sleep(3)  # each has scraped what is there now
        [line] = serve.snapshot()
        a = line["accounting"]
        assert_few_missing(a)
        # fio had begun before the service; what it did then is no IO of ours.
        assert 0.8 * (f.ios("read") + f.ios("write")) <= a["started"] <= f.ios("read") + f.ios("write")
        want = own_p99(file)
        for kind, p in servers.items():
            count, buckets, width = KINDS[kind]
            counts = {op: p.value(count % f'{{op="{op}"}}') for op in ("read", "write")}
            assert sum(counts.values()) == a["completed"], (kind, counts, a)
            for op in counts:
                series = buckets % f'{{op="{op}"}}'
                got = p.value(f"histogram_quantile(0.99, rate({series}[{SECONDS - 10}s]))") * 1e9
                assert 1 / width < got / want[op] < width, (kind, op, got, want)
            assert p.value("min_over_time(up[1m])") == 1
