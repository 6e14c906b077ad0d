# SPDX-License-Identifier: GPL-2.0-only
"""
Real servers scrape the service: Prometheus with native histograms and without, and VictoriaMetrics, whose native buckets are at
/metrics?buckets=vmrange. More of Prometheus' queries: tests/prom/test_server.py.
"""
import pathlib
import re
import sys

import pytest
from script import write_recording
from service import Serve

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "prom"))
import server  # noqa: E402
import tools  # noqa: E402

IOS = {"read": [(90_000, 950), (2_000_000, 50)], "write": [(12, 3), (40_000, 97), (200_000_000_000, 2)]}
WIDTH = 2 ** (1 / 8)
INTERVALS = 3


@pytest.fixture
def serve(tmp_path):
    lines = [f"io {op} {ns}ns 4096 x{n}" for op, told in IOS.items() for ns, n in told]
    script = ["blklat-replay 1", "device sda", "device sdb", "watch sda device", "watch sdb device"]
    for _ in range(INTERVALS):
        script += [line for device in ("sda", "sdb") for line in (f"on {device} device", *lines)] + ["tick 0.1"]
    with Serve("--replay", write_recording("\n".join(script), tmp_path / "run.blklat")) as s:
        s.replayed()
        yield s


def test_ranges_hold_their_ios(serve):
    text = serve.request("/metrics?buckets=vmrange").text
    assert "le=" not in text and serve.request("/metrics?buckets=le").status == 400
    for op, told in IOS.items():
        found = re.findall(rf'_bucket{{device="sda",op="{op}",stage="device",vmrange="(.*)\.\.\.(.*)"}} (\d+)', text)
        assert len(found) == len(told)
        for (lower, upper, n), (ns, ios) in zip(found, told, strict=True):
            assert float(lower) < ns / 1e9 <= float(upper) and int(n) == ios * INTERVALS
        assert f'_count{{device="sda",op="{op}",stage="device"}} {INTERVALS * sum(n for _, n in told)}\n' in text
    # Everything else is the same.
    plain = serve.request("/metrics").text
    assert [line for line in plain.splitlines() if "_bucket{" not in line] == [line for line in text.splitlines() if "_bucket{" not in line]


class VictoriaMetrics(server.Prometheus):
    LISTEN = "-httpListenAddr"

    def __init__(self, address, folder):
        self.at, self.log = {}, folder / "log"
        (folder / "scrape.yml").write_text(
            "scrape_configs:\n- job_name: blklat\n  scrape_interval: 1s\n  params: {buckets: [vmrange]}\n"
            f"  static_configs: [{{targets: ['{address}']}}]\n")
        self.argv = [tools.find("victoria-metrics"), f"-promscrape.config={folder}/scrape.yml", f"-storageDataPath={folder}/data",
                     "-search.latencyOffset=1ms", "-memory.allowedBytes=128MB"]
        self.until_ready()

    def close(self):
        self.process.terminate()
        self.process.wait(60)


def test_victoriametrics_merges_them(serve, tmp_path):
    """Two devices together have the counts of both, and percentiles within a bucket."""
    vm = VictoriaMetrics(f"127.0.0.1:{serve.port}", tmp_path)
    try:
        serve.until(lambda: vm.query("count(blklat_io_latency_seconds_count)") == [({}, 4.0)], "a scrape")
        for op, told in IOS.items():
            total = 2 * INTERVALS * sum(n for _, n in told)
            buckets = f'sum(blklat_io_latency_seconds_bucket{{op="{op}"}}) by (vmrange)'
            assert vm.value(f'sum(blklat_io_latency_seconds_count{{op="{op}"}})') == vm.value(f"sum({buckets})") == total
            for q in (0.5, 0.9, 0.97):
                reached = iter(told)
                ns, below = next(reached), 0
                while below + ns[1] < q * sum(n for _, n in told):
                    below += ns[1]
                    ns = next(reached)
                assert 1 / WIDTH < vm.value(f"histogram_quantile({q}, {buckets})") * 1e9 / ns[0] < WIDTH, (op, q)
    finally:
        vm.close()


@pytest.mark.parametrize("native", [False, True], ids=["classic", "native"])
def test_prometheus_has_every_io(serve, native):
    prometheus = server.Prometheus([f"127.0.0.1:{serve.port}"], native=native)
    try:
        count = "histogram_count(blklat_io_latency_seconds)" if native else "blklat_io_latency_seconds_count"
        wanted = {op: INTERVALS * sum(n for _, n in told) for op, told in IOS.items()}
        serve.until(lambda: prometheus.query(count), "a scrape")
        assert sorted((r["device"], r["op"], n) for r, n in prometheus.query(count)) == [(d, op, n) for d in ("sda", "sdb") for op, n in wanted.items()]
        prometheus.assert_scrapes()
    finally:
        prometheus.close()
