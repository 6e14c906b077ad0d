# SPDX-License-Identifier: GPL-2.0-only
"""'serve --otlp' and a collector that takes requests, or does not. What is in them: tests/prom/test_otlp.py."""
import contextlib
import re
import shutil
import socket
import ssl
import subprocess

import otlp
import pytest
import wire
from collector import Collector
from service import MIXED, Serve

PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
AGAIN = "; retrying"


def pushing(collector, file, *more, every="0.1"):
    return Serve("--replay", file, "--prom-schema", "6", "--otlp", collector.url, "--otlp-interval", every, *more)


def told(service):
    return [line for line in service.read_stderr().splitlines() if "push" in line or "rejected" in line]


def counted(service):
    """What /metrics says became of requests, as of the last interval."""
    metrics = service.metrics()
    return {result: metrics[f'blklat_otlp_pushes_total{{result="{result}"}}'] for result in ("ok", "failed", "rejected")}


def assert_complete(collector, held_up_s):
    """From the first interval on, in order, and with no pause of a second, in which ten intervals end, missing. @held_up_s: by the machine."""
    n, most = collector.intervals(), 5 + 10 * held_up_s
    assert n[0] < most and all(0 < after - before < most for before, after in zip(n, n[1:])), (n, most)


def test_the_last_push_is_what_is_served(tmp_path):
    """At the end what has not been pushed yet is, and totals equal those of /metrics. (Buckets: tests/prom/test_otlp.py.)"""
    secret = tmp_path / "headers"
    secret.write_text("Authorization: Bearer abc\n\nX-Scope: one: two\n")
    with Collector() as c, pushing(c, MIXED, "--otlp-headers", secret, every="1h") as s:
        s.replayed()
        families = wire.families(s.request("/metrics", headers={"Accept": PROTOBUF}).body)
        assert len(c.taken) == 1
        s.stop()
        first, last = c.taken
        assert s.read_stderr().count("push") == 0
    metrics = otlp.pushed(last.body)[2]
    assert (last.path, last.headers["Content-Type"], last.headers["Authorization"], last.headers["X-Scope"]) == (
        "/v1/metrics", "application/x-protobuf", "Bearer abc", "one: two")
    for name, family in (("blklat.io", "blklat_io_bytes_total"), ("blklat.io.started", "blklat_io_started_total")):
        exposed = {tuple(m["labels"].items()): m["counter"]["value"] for m in families[family]["metric"]}
        assert {tuple(p["attributes"].items()): p["value"] for p in metrics[name]["points"]} == exposed


@pytest.mark.parametrize("answer,why", [
    ((503, {"Retry-After": "2"}, b"starting\0 \x1b[1mup\n"), "status 503: starting"), ((429, {}, b""), "status 429"), (None, "[^;]+"),
], ids=["unavailable", "too many", "dropped"])
def test_what_is_not_taken_is_pushed_later(script, answer, why):
    """Nothing is missing, and everything is in order; the collector's word on when to come back counts."""
    with Collector(answer, answer) as c, pushing(c, script(intervals=100)) as s:
        s.until(lambda: len(told(s)) == 2 and len(c.taken) > 20, "requests after two failures")
        failed, again = told(s)
        counts = s.until(lambda: (n := counted(s))["failed"] == 2 and n["ok"] and n, "counts of both")
        assert counts["ok"] + 2 <= len(c.requests) and not counts["rejected"]
        assert_complete(c, s.held_up_s())
        pauses = [after.at - before.at for before, after in zip(c.requests, c.requests[1:3])]
        least = (2, 2) if answer and answer[1] else (0.5, 1)
        assert pauses[0] >= least[0] and pauses[1] >= least[1], pauses
        assert c.requests[0].body == c.requests[2].body == c.taken[0].body
    url = f"{c.url}/v1/metrics"
    assert failed.startswith(f"blklat serve: could not push to {url}: ") and failed.isprintable() and failed.endswith(AGAIN)
    assert re.search(f": {why}.*{AGAIN}", failed), failed
    assert again == f"blklat serve: pushing to {url} works again; 0 requests were dropped meanwhile"


def test_a_collector_that_starts_later(script):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    absent = Collector(port=port)
    absent.server.socket.close()
    with pushing(absent, script(intervals=40)) as s:
        s.until(lambda: told(s), "a failure")
        with Collector(port=port) as c:
            s.until(lambda: len(c.taken) > 10, "requests")
            assert_complete(c, s.held_up_s())
            assert len(told(s)) == 2 and "onnect" in told(s)[0]


@pytest.mark.parametrize("answer,words", [
    ((400, {}, b"bad\nthing"), "could not push to URL: status 400: bad?thing"),
    # ExportMetricsServiceResponse { partial_success { rejected_data_points: 7 error_message: "old" } }
    ((200, {}, b"\x0a\x07\x08\x07\x12\x03old"), "URL rejected 7 data points: old"),
], ids=["bad", "partial"])
def test_what_is_refused_is_told_and_not_pushed_again(script, answer, words):
    with Collector(answer, answer) as c, pushing(c, script(intervals=100)) as s:
        s.until(lambda: len(told(s)) == 2, "word of two")
        s.until(lambda: len(c.requests) > 5, "more")
        counts = s.until(lambda: (n := counted(s))["rejected"] == 2 and n["ok"] and n, "counts of both")
        assert counts["ok"] + 2 <= len(c.requests) and not counts["failed"]
        assert told(s)[0] == "blklat serve: " + words.replace("URL", f"{c.url}/v1/metrics")
        bodies = [got.body for got in c.requests]
        assert len(set(bodies)) == len(bodies)


def test_a_collector_that_hangs_holds_nobody_up(script):
    """Intervals and scrapes go on, and so does the end of the service."""
    with Collector(30) as c, pushing(c, script(intervals=200, seconds=0.05)) as s:
        s.until(lambda: c.requests, "the first request")
        before = s.metrics()["blklat_capture_intervals_total"]
        s.until(lambda: s.metrics()["blklat_capture_intervals_total"] >= before + 40, "intervals", deadline_s=6)
        assert len(c.requests) == 1 and not told(s)
        assert s.stop() < 3


def test_tls_trusts_whom_it_is_told(tmp_path, script):
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=c", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True)
    # A process of nobody's reads it.
    for folder in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o005)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with Collector(tls=context) as c:
        with pushing(c, script(), "--otlp-ca", tmp_path / "crt") as s:
            s.until(lambda: c.taken, "a request")
            assert told(s) == []
        c.url += "/other"
        with pushing(c, script()) as s:
            s.until(lambda: told(s), "a refusal")
            assert "certificate" in told(s)[0], told(s)
        assert {got.path for got in c.requests} == {"/v1/metrics"}
