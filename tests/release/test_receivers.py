# SPDX-License-Identifier: GPL-2.0-only
"""What 'serve --otlp' pushes, as the OpenTelemetry collector and Prometheus take it (receivers/main.go): the counts of /metrics."""
import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("host", "prom", "serve", "vm")]

import cache  # noqa: E402
import wire  # noqa: E402
from script import SCRIPTS, recorded  # noqa: E402
from service import Serve  # noqa: E402

SOURCES = ROOT / "tests/release/receivers"
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
BUILD_S = 1800


@pytest.fixture(scope="module")
def receivers():
    """The program, built once; its modules come from the Go module proxy."""
    wanted = re.search(r"^go (\d+)\.(\d+)", (SOURCES / "go.mod").read_text(), re.M)
    found = re.search(r"go(\d+)\.(\d+)", subprocess.run(["go", "version"], capture_output=True, text=True).stdout) if shutil.which("go") else None
    if not found or tuple(map(int, found.groups())) < tuple(map(int, wanted.groups())):
        pytest.skip(f"no Go {'.'.join(wanted.groups())}, which Debian 12 does not have")
    with cache.locked():
        folder = cache.keyed(cache.CACHE, "receivers", *(f.read_text() for f in sorted(SOURCES.iterdir())))
    if not (folder / "receivers").exists():
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        for step in (["mod", "tidy"], ["build", "-o", "receivers.new", "."]):
            subprocess.run(["go", *step], cwd=folder, check=True, timeout=BUILD_S)
        (folder / "receivers.new").rename(folder / "receivers")
    return folder / "receivers"


@contextlib.contextmanager
def receiving(program, kind):
    """Its port, and a function that returns what it has."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    with subprocess.Popen([program, kind, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def has():
            process.stdin.write("\n")
            process.stdin.flush()
            return [json.loads(line) for line in iter(process.stdout.readline, "end\n")]
        try:
            assert process.stdout.readline() == "ready\n"
            yield port, has
        finally:
            process.kill()


def served(path, url):
    """The families of /metrics when the replay is at its end. All of it has been pushed when the service has ended."""
    with Serve("--replay", path, "--prom-schema", "6", "--otlp", url, "--otlp-interval", "1h") as s:
        s.replayed()
        return wire.families(s.request("/metrics", headers={"Accept": PROTOBUF}).body)


PATHS = [recorded(s) for s in SCRIPTS if s.stem in ("mixed", "slow")]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_the_collector_receives_what_is_served(receivers, path):
    with receiving(receivers, "collector") as (port, has):
        families = served(path, f"http://127.0.0.1:{port}")
        (scope,) = has()[-1]["resourceMetrics"][0]["scopeMetrics"]
    metrics = {m["name"]: m for m in scope["metrics"]}

    def points(metric, kind):
        for p in metrics[metric][kind]["dataPoints"]:
            yield tuple((a["key"], a["value"]["stringValue"]) for a in p["attributes"]), p
    exposed = {tuple(m["labels"].items()): m["counter"]["value"] for m in families["blklat_io_bytes_total"]["metric"]}
    assert {key: p["asDouble"] for key, p in points("blklat.io", "sum")} == exposed
    exposed = {tuple(m["labels"].items()): m["histogram"] for m in families["blklat_io_latency_seconds"]["metric"]}
    received = dict(points("blklat.io.latency", "exponentialHistogram"))
    assert received.keys() == exposed.keys()
    for key, p in received.items():
        first = p["positive"].get("offset", 0) + 1
        ios = {first + i: int(n) for i, n in enumerate(p["positive"].get("bucketCounts", [])) if int(n)}
        assert ios == {i: n for i, n in wire.buckets(exposed[key]).items() if n}
        assert (int(p.get("count", 0)), p.get("sum", 0), p["scale"]) == tuple(exposed[key][name] for name in ("sample_count", "sample_sum", "schema"))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_prometheus_stores_what_it_would_have_scraped(receivers, path):
    """Every series under the same name, with the same value, and the same IOs in the same buckets."""
    with receiving(receivers, "prometheus") as (port, has):
        families = served(path, f"http://127.0.0.1:{port}")
        stored, series = {}, has()
        # Some have ended before, such as since when something was wrong.
        now = max(s["Time"] for s in series)
        for s in (s for s in series if s["Time"] == now):
            key = frozenset((k, v) for k, v in s["Labels"].items() if k not in ("__name__", "job", "instance"))
            stored.setdefault(s["Labels"]["__name__"], {})[key] = s
    assert {n for n in stored if n.startswith("system_")} == {
        "system_disk_io_bytes_total", "system_disk_operations_total", "system_disk_operation_time_seconds_total"}
    assert sorted(n for n in stored if n.startswith("blklat_")) == sorted(families)
    for name, family in families.items():
        exposed = {frozenset((k, v) for k, v in m["labels"].items() if v): m for m in family["metric"]}
        assert stored[name].keys() == exposed.keys()
        for key, m in exposed.items():
            s = stored[name][key]
            if family["type"] != "histogram":
                assert s["Value"] == m[family["type"]]["value"], name
                continue
            h = m["histogram"]
            assert {int(i): n for i, n in s["Buckets"].items()} == {i: n for i, n in wire.buckets(h).items() if n}
            assert [s[k] for k in ("Count", "Sum", "Zero", "Schema")] == [h[k] for k in ("sample_count", "sample_sum", "zero_count", "schema")]
