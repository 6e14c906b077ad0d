#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Whole requests, damaged in all ways, to a service with sanitizers: http.py BLKLAT SECONDS [SEED]

It sends a valid HTTP answer or closes the connection. In the end it still runs and answers, and ends with status 0. A library parses
the requests; the rest is ours: routes, hosts, users, formats, the stream. A run that fails prints its seed.
"""
import base64
import contextlib
import os
import pathlib
import random
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["BLKLAT"] = sys.argv[1]
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:log_path=stderr"  # the service's filter of system calls prevents both
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("", "host", "serve")]

from script import write_recording  # noqa: E402
from service import Serve, script_of  # noqa: E402

HASH = "$2y$04$" + "." * 53  # matches no password
PATHS = ["/", "/metrics", "/api/snapshot", "/api/snapshot?bins=1", "/api/stream", "/healthz", "/readyz", "/-/healthy", "/%2e%2e/etc/passwd", "*", "http://localhost/metrics"]
HEADERS = [b"Host: localhost", b"Host: 127.0.0.1", b"Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1",
           b"Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", b"Accept-Encoding: gzip, *;q=0",
           b"Authorization: Basic " + base64.b64encode(b"a:b"), b"Authorization: Basic ====", b"Authorization: Bearer x", b"Last-Event-ID: 1.2",
           b"Last-Event-ID: 99999999999999999999", b"Connection: close", b"Connection: keep-alive", b"Content-Length: 5", b"Content-Length: -1",
           b"Transfer-Encoding: chunked", b"If-None-Match: *", b"Expect: 100-continue", b"Upgrade: h2c", b"Range: bytes=0-1", b"Origin: null"]
METHODS = [b"GET", b"GET", b"GET", b"HEAD", b"POST", b"OPTIONS", b"TRACE", b"DELETE", b"get", b"G\0T"]


def request(r):
    path = r.choice(PATHS).encode()
    lines = [b" ".join((r.choice(METHODS), path, r.choice((b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b""))))]
    lines += r.choices(HEADERS, k=r.randrange(6))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (b"body!" if r.random() < 0.2 else b"")


def damage(r, data):
    data = bytearray(data)
    for _ in range(r.choice((0, 0, 1, 2, 5))):
        at = r.randrange(len(data) + 1)
        how = r.randrange(5)
        if how == 0:
            data[at:at + 1] = bytes([r.randrange(256)])
        elif how == 1:
            del data[at:at + r.randrange(1, 20)]
        elif how == 2:
            data[at:at] = data[r.randrange(len(data) + 1):][:r.randrange(200)]
        elif how == 3:
            data[at:at] = r.choice((b"\0", b"\r\n", b"\n", b"%00", b"%", b"\xff" * 9, b",", b";q=1e999", b"a" * 9000))
        else:
            del data[at:]
    return bytes(data)


def send(serve, r, data):
    """Sends the data in one piece or two; then reads, closes or resets the connection."""
    with contextlib.closing(serve.raw(timeout=0.05)) as s, contextlib.suppress(OSError):
        cut = r.randrange(len(data) + 1) if r.random() < 0.3 else len(data)
        s.sendall(data[:cut])
        s.sendall(data[cut:])
        if r.random() < 0.7:
            s.shutdown(socket.SHUT_WR)
            answer = s.recv(4096)
            assert not answer or answer.startswith(b"HTTP/1."), answer


def attack(serve, r, until):
    n = 0
    while time.monotonic() < until:
        with contextlib.suppress(ConnectionError, TimeoutError):
            send(serve, r, damage(r, request(r)))
        n += 1
        assert serve.process.poll() is None, serve.read_stderr()
    return n


def healthy(serve):
    with contextlib.suppress(OSError):
        return serve.request("/healthz").status in (200, 401, 503)


def main():
    seconds, seed = float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else str(time.time_ns())
    r, n = random.Random(seed), 0
    print(f"http: seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="blklat-fuzz-") as folder:
        folder = pathlib.Path(folder)
        file = write_recording(script_of(10000, 0.05), folder / "run.blklat")
        (folder / "web.yml").write_text(f"basic_auth_users:\n  a: {HASH}\n")
        for more in (), ("--web-config", folder / "web.yml"):
            with Serve("--replay", file, *more) as serve:
                n += attack(serve, r, time.monotonic() + seconds / 2)
                serve.until(lambda: healthy(serve), "an answer")
    print(f"http: {n} requests in {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
