# SPDX-License-Identifier: GPL-2.0-only
"""Clients that guess passwords: those who know one are served, at a bounded cost, and a replay does not fall behind."""
import contextlib
import signal
import time

import pytest
from peers import INTERVAL_S, refusals, scrape_times
from pressure import attackers
from service import Serve, behind
from users import AHEAD, basic, bcrypt

pytestmark = [pytest.mark.plain, pytest.mark.usefixtures("descriptors")]


@contextlib.contextmanager
def guarded(tmp_path, script, password="secret", cost=10, **more):
    """A service that asks for a password, and the headers that give access."""
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{prometheus: {bcrypt(password, cost)}}}")
    with Serve("--replay", script(1000, INTERVAL_S, devices=2), "--web-config", tmp_path / "web.yml", **more) as s:
        yield s, basic("prometheus", password)


def status(serve, headers, source=None):
    with contextlib.suppress(OSError), contextlib.closing(serve.connection(source=source)) as c:
        c.request("GET", "/metrics", headers=headers)
        return c.getresponse().status


def let_in(serve, headers):
    """The password is known from then on. A busy machine may be short of time for checks, and a request that waits for long is refused."""
    serve.until(lambda: status(serve, headers) == 200, "the check of a password")


@pytest.mark.parametrize("spread", [False, True], ids=["from one address", "from many"])
def test_slow_clients_and_wrong_passwords_at_once(tmp_path, script, spread):
    """
    150 clients never end their request and 60 guess passwords; all reconnect at once. Whoever knows the password is served
    within a second, plus the time for which the machine holds the service up.
    """
    with guarded(tmp_path, script) as (serve, right):
        let_in(serve, right)
        with serve.stream(right) as stream:
            since, held_up_s = stream.newest(), serve.held_up_s()
            rss = serve.rss_kib()
            with attackers(serve, 150, 60, spread) as attack:
                # Of passwords, or for want of time to check them.
                pressed = lambda: (now := refusals(serve, right))["password"] + now["busy"] > 5 and now["slow"] + now["crowded"] and sum(now.values()) > 80 and now
                refused = serve.until(pressed, "refusals")
                took = scrape_times(serve, 10, right)
                told = attack.end()
            late, held_up_s = behind(since, stream.newest()), serve.held_up_s() - held_up_s
            # A connection that a service without a CPU could not take is tried again by TCP, after 1, 2, 4 s.
            assert max(took) < 1 + held_up_s and late < 1 + held_up_s, (took, late, held_up_s)
            assert serve.rss_kib() - rss < 8192
    assert not refused["streams"], refused
    # The pressure was real: all were connected, and more than 80 refused.
    assert told["connections"] >= 150 + 60 and told.get("401", 0) + told.get("429", 0) >= 5, told


@pytest.mark.parametrize("spread", [False, True], ids=["from one address", "from many"])
def test_a_first_right_password_among_wrong_ones(tmp_path, script, spread):
    """It waits in line behind its own address only, as addresses take turns. With a quick hash, so that eight a second are the limit."""
    with guarded(tmp_path, script, cost=5) as (serve, right):
        with attackers(serve, 0, 60, spread):
            serve.until(lambda: serve.request("/metrics", headers=right).status == 200, "an answer", 120)
            assert serve.request("/metrics", headers=right).status == 200


def test_a_first_right_password_from_elsewhere(tmp_path, script):
    """All guesses come from one address, which has scraped before: another address has its turn after one check."""
    with guarded(tmp_path, script, prefix=AHEAD) as (serve, right):
        let_in(serve, right)
        (tmp_path / "web.yml").write_text(f"basic_auth_users: {{prometheus: {bcrypt('changed', 11)}}}")
        serve.process.send_signal(signal.SIGHUP)
        serve.until(lambda: status(serve, right) == 401, "the new password")

        before = serve.cpu_ms()
        # A busy machine may still be short of time for checks: then this one is refused at first, which costs little.
        serve.until(lambda: status(serve, right, "127.0.0.8") == 401, "a check")
        one = serve.cpu_ms() - before
        with attackers(serve, 0, 60, False):
            before, asked = serve.cpu_ms(), []
            serve.until(lambda: asked.append(None) or status(serve, basic("prometheus", "changed"), "127.0.0.9") == 200, "its check")
            # Each time the check that is under way, its own, and refusals; of the guesses 20 are checked at once.
            assert serve.cpu_ms() - before < 8 * one * len(asked)


def test_guessing_is_bounded(tmp_path, script):
    """At most half a CPU for all, and for an address 20 checks and then eight a second; others are told when to try again."""
    with guarded(tmp_path, script) as (serve, _):
        began, before = time.monotonic(), serve.cpu_ms()
        with attackers(serve, 0, 100, False) as attack:
            time.sleep(4)
            answers = [serve.request("/metrics", headers=basic("prometheus", f"another {n}")) for n in range(10)]
            elapsed, spent = time.monotonic() - began, serve.cpu_ms() - before
            told = attack.end()
        # One of these may be among the eight a second that are checked.
        assert {(a.status, a.headers["Retry-After"]) for a in answers} - {(401, None)} == {(429, "5")}
        assert told["429"] > 50 and told.get("401", 0) <= 20 + 8 * (time.monotonic() - began) + 1, told
        assert spent < 1000 * elapsed * 0.75


def test_the_same_password_is_checked_once(tmp_path, script):
    """30 scrapers that begin at once cost one hash, right or wrong."""
    with guarded(tmp_path, script, cost=11, prefix=AHEAD) as (serve, right):
        def cost_ms(headers, status):
            request, before = serve.get_request("/metrics", headers=headers), serve.cpu_ms()
            all_of_them = [serve.raw(request) for _ in range(30)]
            assert {s.recv(12)[9:] for s in all_of_them} == {status}
            return serve.cpu_ms() - before
        one = cost_ms(basic("prometheus", "one"), b"401")
        assert cost_ms(basic("prometheus", "wrong"), b"401") < 3 * one
        assert cost_ms(right, b"200") < 3 * one


def test_ends_while_passwords_are_checked(tmp_path, script):
    """One check is under way, which takes a second, and 30 wait."""
    took = []
    for _ in range(3):
        with guarded(tmp_path, script, cost=14) as (serve, _):
            waiting = [serve.raw(serve.get_request("/metrics", headers=basic("prometheus", str(i)))) for i in range(30)]
            time.sleep(0.3)
            took.append(serve.stop())
    assert min(took) < 1, took
