# SPDX-License-Identifier: GPL-2.0-only
"""Which request gets which answer: paths, methods, headers, encodings, hosts."""
import gzip

import pytest
import yaml
from script import write_recording
from service import MIXED, ROOT, Serve, script_of

ALWAYS = {
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
}
PATHS = ["/", "/metrics", "/api/snapshot", "/healthz", "/readyz"]


@pytest.fixture(scope="module")
def serve():
    with Serve("--replay", MIXED) as s:
        # The two intervals are over and can still be read.
        s.replayed()
        yield s


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health(serve, path):
    """The replay is over, so nothing is captured any more."""
    r = serve.request(path)
    assert (r.status, r.text) == (503, "the capture has stopped: the replay is at its end\n")


def test_health_while_all_is_well(script):
    with Serve("--replay", script(1000)) as s:
        s.until(lambda: s.snapshot(), "an interval")
        for r in s.request("/healthz"), s.request("/readyz"):
            assert (r.status, r.text) == (200, "ok\n")


def lossy(path, *words, ios):
    """In the second interval something may be missing, and little is done after it."""
    return write_recording("blklat-replay 1\ndevice sda\ndevice sdb\nwatch sda device\nwatch sdb device\n" + f"io read 1ms 4096 x{ios}\n"
                           "tick 0.1\n" + "\n".join([*words, "tick 0.1", *["on sda device", "io read 1ms 4096", "tick 0.1"] * 1000]), path)


def test_readiness_tells_of_losses(tmp_path):
    """They are no reason to end the capture."""
    with Serve("--replay", lossy(tmp_path / "lossy.blklat", "on sda device", "account no_start 3", ios=200)) as s:
        r = s.until(lambda: (r := s.request("/readyz")).status == 503 and r, "a loss")
        assert r.text == "IOs were lost within the last minute: 3 of sda, stage device\n"
        assert s.request("/healthz").text == "ok\n"


@pytest.mark.parametrize("words", [["on sda device", "account no_start 3"], ["skipped 3"]])
def test_readiness_is_a_share(tmp_path, words):
    """Of 400 IOs, 3 are less than 1 %, though all of the interval that lost them."""
    with Serve("--replay", lossy(tmp_path / "few.blklat", *words, ios=397)) as s:
        s.until(lambda: any(l["accounting"]["lost"] + l["accounting"]["skipped_unexplained"] for l in s.snapshot()), "a loss")
        assert s.request("/readyz").text == "ok\n"


def test_few_losses_restart_nothing(tmp_path):
    """By the probes of the DaemonSet: ten minutes, each of which loses an IO, played in 12 s."""
    container = list(yaml.safe_load_all((ROOT / "packaging/kubernetes/daemonset.yaml").read_text()))[-1]["spec"]["template"]["spec"]["containers"][0]
    probes = [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")]
    minute = ["io read 1ms 4096 x5\ntick 0.02"] * 59 + ["io read 1ms 4096 x5\naccount overwritten 1\ntick 0.02"]
    file = write_recording("\n".join(["blklat-replay 1\ndevice sda\nwatch sda device", *minute * 10]), tmp_path / "minutes.blklat")
    with Serve("--replay", file) as s:
        s.until(lambda: s.snapshot(), "an interval")

        def probed():
            answers = [s.request(path).text for path in probes]
            assert all(answer == "ok\n" or "the replay is at its end" in answer for answer in answers)
            return "ok\n" not in answers
        s.until(probed, "the end of the replay")
        assert s.metrics()['blklat_io_lost_total{device="sda",reason="overwritten",stage="device"}'] == 10


def test_readiness_tells_of_skipped_programs(tmp_path):
    """Something may be lost, although nothing is known to be. The metrics and the page's data say so once for all devices."""
    with Serve("--replay", lossy(tmp_path / "skipped.blklat", "skipped 2", ios=20)) as s:
        r = s.until(lambda: (r := s.request("/readyz")).status == 503 and r, "a skipped program")
        assert r.text == "IOs may have been missed within the last minute: the kernel skipped 2 program runs\n"
        assert "\nblklat_capture_skipped_runs_total 2\n" in s.request("/metrics").text
        assert {line["accounting"]["skipped_unexplained"] for line in s.snapshot()} == {2}
        assert all(line["accounting"]["lost"] == 0 for line in s.snapshot())


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_the_body(serve, path):
    get, head = serve.request(path), serve.request(path, "HEAD")
    assert head.body == b"" and head.status == get.status
    drop = {"Date"}
    assert {k: v for k, v in head.headers.items() if k not in drop} == {k: v for k, v in get.headers.items() if k not in drop}


@pytest.mark.parametrize("path", [*PATHS, "/nowhere"])
def test_headers_that_all_answers_have(serve, path):
    r = serve.request(path)
    for name, value in ALWAYS.items():
        assert r.headers[name] == value
    policy = r.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert r.headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize("path", ["/metrics", "/api/snapshot"])
@pytest.mark.parametrize("accept, packed", [
    (None, False), ("gzip", True), ("GZIP", True), ("deflate, gzip;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.000", False),
    ("*", True), ("*;q=0", False), ("gzip;q=0, *", False), ("identity", False), ("gzipped", False), ("br;q=1.0, x-gzip", True),
    (",,gzip", True), (";", False), ("gzip;q=0.001", True),
])
def test_gzip(serve, path, accept, packed):
    plain = serve.request(path)
    r = serve.request(path, headers={"Accept-Encoding": accept} if accept else {})
    assert r.headers["Content-Encoding"] == ("gzip" if packed else None)
    assert (gzip.decompress(r.body) if packed else r.body) == plain.body
    assert r.headers["Vary"] == "Accept, Accept-Encoding"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "get"])
def test_other_methods_are_refused(serve, method):
    r = serve.request("/metrics", method, body=b"x" * 10000 if method in ("POST", "PUT") else None)
    assert (r.status, r.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/metrics/", "/api", "/../etc/passwd", "//metrics", "/%2e%2e/", "/metrics%00", "/api/snapshot/x"])
def test_other_paths_are_not_found(serve, path):
    assert serve.request(path).status == 404


def test_a_query_does_not_matter(serve):
    assert serve.request("/metrics?collect[]=x&<script>").status == 200


def test_connections_are_kept(serve):
    c = serve.connection()
    ports = set()
    for _ in range(5):
        c.request("GET", "/metrics")
        c.getresponse().read()
        ports.add(c.sock.getsockname()[1])
    c.close()
    assert len(ports) == 1


def host_status(serve, host):
    line = serve.exchange(b"GET /metrics HTTP/1.1\r\n" + (b"Host: " + host + b"\r\n" if host is not None else b"") + b"\r\n")
    return int(line.split()[1])


def test_host(serve):
    port = str(serve.port).encode()
    for good in (b"127.0.0.1:", b"localhost:", b"LocalHost:", b"[::1]:"):
        assert host_status(serve, good + port) == 200, good
    for bad in (b"evil.example", b"evil.example:" + port, b"localhost", b"localhost:1", b"127.0.0.1:" + port + b"0", b"127.0.0.1.evil.example:" + port,
                b"localhost.:" + port, b"[::1]", b"[::1]x:" + port, b"[::1:" + port, b":" + port, b"127.0.0.2:" + port,
                b"localhost:" + port + b" ", b"localhost:+" + port, b"localhost:0" + b"0" * 20 + port, b"user@localhost:" + port, b"\xff\xfe"):
        assert host_status(serve, bad) in (400, 403) or bad.endswith(b" "), bad
    assert host_status(serve, b"") in (400, 403)
    assert host_status(serve, None) == 400
    assert serve.exchange(b"GET /metrics HTTP/1.0\r\n\r\n").split()[1] == "403"


@pytest.mark.parametrize("second", ["evil.example", "localhost:{port}", ""])
def test_two_hosts_are_refused(serve, second):
    """Whatever they say, since a proxy between the peer and us may use the other one."""
    for name in ("Host", "host"):
        line = serve.exchange(f"GET /metrics HTTP/1.1\r\nHost: localhost:{serve.port}\r\n{name}: {second.format(port=serve.port)}\r\n\r\n".encode())
        assert line.split()[1] == "400"


@pytest.mark.parametrize("headers", ["Content-Length: 10000000000", "Content-Length: 65537", "Transfer-Encoding: chunked",
                                     "Content-Length: 5\r\nExpect: 100-continue"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_bodies_are_refused_before_they_come(serve, method, headers):
    """The answer does not wait for any of the body."""
    assert serve.exchange(serve.get_request("/metrics", method)[:-2] + headers.encode() + b"\r\n\r\n").split()[1] == "413"


def test_head_of_the_stream(serve):
    """Its headers, and then the connection goes on."""
    with serve.raw(serve.get_request("/api/stream", "HEAD") + serve.get_request("/metrics", "HEAD")) as s:
        answer = b""
        while answer.count(b"HTTP/1.1 200") < 2:
            more = s.recv(4096)
            assert more, answer
            answer += more
    assert b"data:" not in answer and b"text/event-stream" in answer


def test_ipv6(script):
    with Serve("--replay", script(), listen="[::1]:0") as s:
        s.until(lambda: s.snapshot(), "an interval")
        assert "listening on http://[::1]:" in s.stderr and "warning" not in s.stderr
        assert s.request("/metrics").status == 200


def test_every_address_warns_and_asks_no_host(script):
    with Serve("--replay", script(), listen=":0") as s:
        assert "warning: anyone who can reach [::]:" in s.read_stderr()
        s.host = "127.0.0.1"
        assert host_status(s, b"box.example") in (200, 503)


@pytest.mark.parametrize("name", ['"><script>alert(1)</script>', "a\\b", "x\u2028y", "tab\there"])
def test_names_are_escaped(tmp_path, name):
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    path = write_recording(f'blklat-replay 1\ndevice dm-0 mapper="{quoted}" model="{quoted}"\nwatch dm-0 total\n' + "io read 1ms 4096\ntick 0.1\n" * 50,
                           tmp_path / "names.blklat")
    with Serve("--replay", path) as s:
        s.until(lambda: s.snapshot(), "an interval")
        text = s.request("/metrics").text
        # Otherwise a line was torn apart.
        assert [line for line in text.split("\n") if line and not line.startswith(("#", "blklat_"))] == []
        assert name not in s.request("/").text
        with s.stream() as stream:
            _, kind, run = stream.event()
            assert kind == "run" and len(run["devices"]) == 1
            assert "\x1b" not in run["devices"][0]["mapper"]


def test_many_who_ask_cost_one_rendering(tmp_path):
    """Within --interval everybody gets the same bytes, rendered and compressed once; the next interval has others."""
    path = write_recording(script_of(2, 0.2, devices=64) + "\ntick 1000", tmp_path / "run.blklat")
    with Serve("--replay", path, "--interval", 600) as s:
        def ask(times):
            before = s.cpu_ms()
            bodies = {s.request("/metrics", headers={"Accept-Encoding": "gzip"}).body for _ in range(times)}
            return bodies, s.cpu_ms() - before
        _, first_ms = ask(1)
        s.until(lambda: s.snapshot() and s.snapshot()[0]["accounting"]["completed"] == 2600, "the second interval")
        second, second_ms = ask(1)
        bodies, ms = ask(40)
        assert bodies == second and b"blklat_capture_intervals_total 2\n" in gzip.decompress(bodies.pop())
        # The second is of the first one's bytes if the machine let both intervals go by.
        assert ms < 10 * max(first_ms, second_ms), (ms, first_ms, second_ms)
