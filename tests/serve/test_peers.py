# SPDX-License-Identifier: GPL-2.0-only
"""
Slow, dead, many or malicious peers: a replay does not fall behind, memory is bounded, and well-behaved peers are served. Each
interval of a capture: test_on_time.py.
"""
import contextlib
import os
import socket
import time

import pytest
from peers import INTERVAL_S, refusals, scrape_times
from service import Serve, behind

pytestmark = [pytest.mark.plain, pytest.mark.usefixtures("descriptors")]


@contextlib.contextmanager
def undisturbed(serve, seconds, answer_kib=0):
    """
    Some seconds after the block the intervals are behind by less than a second, plus the time for which the machine held the service
    up, and memory stays below a bound. @answer_kib: what peers hold of each interval.
    """
    with serve.stream() as stream:
        since, held_up_s = stream.newest(), serve.held_up_s()
        rss = serve.rss_kib()
        yield
        stream.intervals(max(3, int(seconds / INTERVAL_S)))
        now, held_up_s = stream.newest(), serve.held_up_s() - held_up_s
        assert behind(since, now) < 1 + held_up_s, (since, now, held_up_s)
    assert serve.rss_kib() - rss < 16384 + answer_kib * (now[1] - since[1]) / INTERVAL_S


@pytest.fixture
def serve(script):
    # Two devices, a thousand intervals: more than the tests need.
    with Serve("--replay", script(1000, INTERVAL_S, devices=2)) as s:
        yield s


def test_two_hundred_slow_clients(serve):
    """Each sends a byte now and then and never ends its request: they are cut off, and scrapes don't wait for them."""
    with undisturbed(serve, 3):
        slow = [serve.raw(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ") for _ in range(200)]
        for _ in range(20):
            for s in slow:
                with contextlib.suppress(OSError):
                    s.send(b"a")
            time.sleep(0.05)
        took = scrape_times(serve, 5)
        assert max(took) < 1, took
    assert serve.until(lambda: all(closed(s) for s in slow), "their end", 30)


def test_one_address_does_not_take_all_places(serve):
    """Of 300 connections as many stay as half of all places; an address with fewer keeps its own, even if it is slower."""
    other = serve.raw(b"GET /metrics HTTP/1.1\r\n", source="127.0.0.9")
    many = [serve.raw(b"GET") for _ in range(300)]
    assert serve.until(lambda: (stay := sum(not closed(s, 0.001) for s in many)) <= 128 and stay, "the end of the others") > 100
    other.sendall(b"Host: localhost:%d\r\n\r\n" % serve.port)
    assert other.recv(12) == b"HTTP/1.1 200"


def test_scrapers_keep_their_places(serve):
    """A client that has scraped keeps its connection while 400 others come from as many addresses; one that has not loses it."""
    def resting(path, source):
        c = serve.connection(source=source)
        c.request("GET", path)
        assert c.getresponse().read()
        return c
    with contextlib.closing(resting("/metrics", "127.0.0.8")) as scraper, contextlib.closing(resting("/api/snapshot", "127.0.0.9")) as visitor:
        socket_before = scraper.sock
        # Requests that are done, so that none of these goes by time.
        many = [serve.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", source=f"127.1.{i // 200}.{1 + i % 200}") for i in range(400)]
        scraper.request("GET", "/metrics")
        assert scraper.getresponse().status == 200 and scraper.sock is socket_before
        # The kernel has them all, but the service may not have let all of them in yet.
        assert serve.until(lambda: closed(visitor.sock), "the visitor's end", 30)
    assert len(many) == 400


def test_having_scraped_is_no_weapon(serve):
    """40 addresses scrape and then keep 7 connections each, more than there are places: others still get in."""
    many = []
    serve.until(serve.snapshot, "an interval")
    for i in range(40):
        source = f"127.2.0.{1 + i}"
        with contextlib.closing(serve.connection(source=source)) as c:
            c.request("GET", "/metrics")
            assert c.getresponse().status == 200
        many += [serve.raw(b"GET", source=source) for _ in range(7)]
    with contextlib.closing(serve.connection(source="127.0.0.9")) as c:
        c.request("GET", "/metrics")
        assert c.getresponse().status == 200


def test_slow_tls_handshakes(tmp_path, script, certificate):
    """300 clients begin a handshake and send nothing more."""
    file = tmp_path / "web.yml"
    file.write_text(f"tls_server_config: {{cert_file: {certificate}/one.crt, key_file: {certificate}/one.key}}")
    with Serve("--replay", script(1000, INTERVAL_S), "--web-config", file, tls=True) as serve:
        slow = [serve.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") for _ in range(300)]
        took = scrape_times(serve, 5)
        assert max(took) < 1, took
        assert serve.until(lambda: all(closed(s) for s in slow), "their end", 30)


def reader(serve, request, source="127.0.0.1"):
    """A client with little room that sends this and reads nothing."""
    s = socket.socket()
    serve.sockets.add(s)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((source, 0))
    s.connect((serve.host, serve.port))
    s.sendall(request)
    return s


def test_slow_readers_of_answers(script):
    """300 clients send a request and don't read; as many request hundreds of answers at once."""
    with Serve("--replay", script(1000, INTERVAL_S, devices=64)) as serve:
        serve.until(serve.snapshot, "an interval")
        with undisturbed(serve, 3, len(serve.request("/metrics").body) / 1024):
            slow = [reader(serve, serve.get_request("/metrics") * (1 if i % 2 else 300)) for i in range(300)]
            took = sorted(scrape_times(serve, 5))
            # The first waits until that many are served as far as they take it. A reader is cut off after 30 s.
            assert took[-1] < 10 and took[-2] < 1, took
        assert len(slow) == 300


def test_streams_of_one_address(serve):
    """One address gets half of all streams, so that others get theirs."""
    streams = []
    for status in [b"200"] * 16 + [b"503"]:
        streams.append(serve.raw(serve.get_request("/api/stream")))
        assert streams[-1].recv(12)[9:] == status
    streams.append(serve.raw(serve.get_request("/api/stream"), source="127.0.0.9"))
    assert streams[-1].recv(12)[9:] == b"200"
    # One that ends makes room for another.
    streams.pop(0).close()
    serve.until(lambda: serve.exchange(serve.get_request("/api/stream")).endswith("200 OK"), "a place", 10)
    serve.until(lambda: refusals(serve)["streams"] >= 1, "its count")


def answers(serve):
    with contextlib.suppress(OSError):
        with contextlib.closing(serve.raw(serve.get_request("/metrics"), timeout=1)) as s:
            return s.recv(12) == b"HTTP/1.1 200"


def test_half_open_connections(serve):
    with undisturbed(serve, 2):
        idle = [serve.raw() for _ in range(60)]
    # Some places are left; silent connections lose theirs after ten seconds.
    serve.until(lambda: answers(serve), "an answer", 15)
    assert serve.until(lambda: closed(idle[0]), "its end", 15)


def closed(s, timeout=0.05):
    s.settimeout(timeout)
    try:
        return s.recv(1 << 16) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_those_that_rest_give_way(serve):
    """Idle connections are closed before new ones are refused."""
    rest = []
    for i in range(300):
        rest.append(serve.raw(serve.get_request(), source=f"127.0.0.{2 + i // 100}"))
        assert rest[-1].recv(12).startswith(b"HTTP/1.1 ")
    assert answers(serve)


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


def test_dead_readers_of_the_stream(script):
    """They connect, read nothing and stay. Half a minute later they are disconnected, and nothing was buffered for them."""
    with Serve("--replay", script(1000, INTERVAL_S, devices=24), "--history", "5") as serve:
        dead = [reader(serve, serve.get_request("/api/stream"), f"127.0.0.{2 + i // 10}") for i in range(30)]
        with undisturbed(serve, 5):
            pass
        assert serve.request("/metrics").status == 200 and len(dead) == 30


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
