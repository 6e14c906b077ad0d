# SPDX-License-Identifier: GPL-2.0-only
"""
Peers that are slow, dead, many or malicious: intervals are on time, by the stream's own clock, memory is bounded, and who
behaves is served.
"""
import contextlib
import os
import resource
import socket
import threading
import time

import pytest
from pressure import sleeper
from service import Serve, lateness

LATE_S = 0.05
INTERVAL_S = 0.25


@pytest.fixture(autouse=True)
def descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), max(hard, 4096)))


@contextlib.contextmanager
def undisturbed(serve, seconds, most_kib=16384):
    """
    What happens in the block, and for some time after, makes no interval later than this machine makes another process of the same
    priority, and takes no more memory than a bound.
    """
    with serve.stream() as stream, sleeper() as machine:
        stream.intervals(2)
        rss = serve.rss_kib()
        yield
        late = lateness(stream.intervals(max(3, int(seconds / INTERVAL_S))))
        assert max(late) <= LATE_S + machine.end(), late
    assert serve.rss_kib() - rss < most_kib


@pytest.fixture
def serve(script):
    # Two devices, a thousand intervals: the tests are over before they are.
    with Serve("--replay", script(1000, INTERVAL_S, devices=2)) as s:
        yield s


def close_all(sockets):
    for s in sockets:
        s.close()


def test_two_hundred_slow_clients(serve):
    """Each sends a byte now and then and never ends its request; they are cut off, and a scrape gets through then."""
    slow = []
    try:
        with undisturbed(serve, 3):
            for _ in range(200):
                slow.append(serve.raw(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: "))
            for _ in range(20):
                for s in slow:
                    with contextlib.suppress(OSError):
                        s.send(b"a")
                time.sleep(0.05)
        began = time.monotonic()
        serve.until(lambda: answers(serve), "an answer", 60)
        assert time.monotonic() - began < 45
    finally:
        close_all(slow)


def answers(serve):
    with contextlib.suppress(OSError):
        with contextlib.closing(serve.raw(serve.get_request("/metrics"), timeout=1)) as s:
            return s.recv(12) == b"HTTP/1.1 200"


def test_half_open_connections(serve):
    idle = []
    try:
        with undisturbed(serve, 2):
            idle = [serve.raw() for _ in range(60)]
        # Some places are left; those that say nothing lose theirs after ten seconds.
        serve.until(lambda: answers(serve), "an answer", 15)
        assert serve.until(lambda: closed(idle[0]), "its end", 15)
    finally:
        close_all(idle)


def closed(s):
    s.settimeout(0.05)
    try:
        return s.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_those_that_rest_give_way(serve):
    """Kept connections are closed before new ones find no place."""
    rest = []
    try:
        for _ in range(62):
            s = serve.raw(serve.get_request())
            assert s.recv(12).startswith(b"HTTP/1.1 ")
            rest.append(s)
        time.sleep(1.5)
        assert serve.until(lambda: answers(serve), "an answer", 5)
    finally:
        close_all(rest)


@pytest.mark.parametrize("attack", [
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2 ** 20 + b"\r\n\r\n",
    b"GET /" + b"a" * 2 ** 20 + b" HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 50000 + b"\r\n",
], ids=["header", "path", "headers"])
def test_large_requests(serve, attack):
    with undisturbed(serve, 2):
        firsts = [serve.exchange(attack) for _ in range(20)]
    assert all(f == "" or f.split()[1] in ("400", "413", "414", "431") for f in firsts), firsts
    assert serve.request("/metrics").status == 200


MALFORMED = [
    b"\0" * 1000, b"\r\n" * 1000, b"GET\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"/ HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET http://x/ HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", b"GET / HTTP/1.1\nHost: localhost\n\n", bytes(range(256)) * 20,
]


def test_malformed_requests(serve):
    with undisturbed(serve, 2):
        for data in MALFORMED:
            with contextlib.closing(serve.raw()) as s:
                with contextlib.suppress(OSError):
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(4096):
                        pass
    assert serve.request("/metrics").status == 200


def test_random_bytes(serve):
    """What looks like a request at first, then isn't one."""
    with undisturbed(serve, 2):
        for _ in range(300):
            with contextlib.closing(serve.raw()) as s:
                with contextlib.suppress(OSError):
                    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: " + os.urandom(200) + b"\r\nAccept: " + os.urandom(200) +
                              b"\r\nAccept-Encoding: " + os.urandom(100) + b"\r\nAuthorization: Basic " + os.urandom(50) + b"\r\n\r\n")
                    s.shutdown(socket.SHUT_WR)
    assert serve.request("/metrics").status == 200


def test_scrape_storm(serve):
    """Eight scrapers as fast as they can; every answer is whole."""
    counts, stop = [0] * 8, threading.Event()

    def scrape(i):
        with contextlib.closing(serve.connection()) as c:
            while not stop.is_set():
                c.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"} if i % 2 else {})
                r = c.getresponse()
                assert r.status == 200 and len(r.read()) == int(r.headers["Content-Length"])
                counts[i] += 1
    threads = [threading.Thread(target=scrape, args=(i,)) for i in range(len(counts))]
    try:
        with undisturbed(serve, 4):
            for t in threads:
                t.start()
            time.sleep(4)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert min(counts) > 10


def test_dead_readers_of_the_stream(script):
    """They connect, read nothing and stay; half a minute later they are gone, and nothing was kept for them."""
    with Serve("--replay", script(1000, INTERVAL_S, devices=24), "--history", "5") as serve:
        dead = []
        try:
            for _ in range(30):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.connect((serve.host, serve.port))
                s.sendall(serve.get_request("/api/stream"))
                dead.append(s)
            with undisturbed(serve, 5):
                time.sleep(5)
            assert serve.request("/metrics").status == 200
        finally:
            close_all(dead)


def test_connections_are_not_leaked(serve):
    """After thousands of requests of all kinds the process has as many descriptors and as much memory as before."""
    def descriptors():
        return len(os.listdir(f"/proc/{serve.server}/fd"))

    def once():
        serve.request("/metrics", headers={"Accept-Encoding": "gzip"})
        serve.request("/api/snapshot")
        serve.exchange(b"rubbish\r\n\r\n")
        with serve.stream() as stream:
            stream.event()
    for _ in range(100):
        once()
    serve.until(lambda: descriptors() < 25, "few descriptors")
    before, rss = descriptors(), serve.rss_kib()
    for _ in range(400):
        once()
    serve.until(lambda: descriptors() <= before + 2, "as few descriptors")
    assert serve.rss_kib() - rss < 2048
