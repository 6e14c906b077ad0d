# SPDX-License-Identifier: GPL-2.0-only
"""A service from its start to its end: signals, the service manager, the privileges that it drops."""
import os
import re
import signal

import pytest
from service import Serve, let_all_reach, refused
from service_manager import Manager
from stalls import ended, fill


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_within_a_second(script, number):
    """Also while streams are open and a request is half sent. The quickest of three runs shows the service, not the machine's other work."""
    took = []
    for _ in range(3):
        with Serve("--replay", script(10, 1000)) as s:
            half = s.raw(b"GET /metrics HTTP/1.1\r\n")
            with s.stream():
                took.append(s.stop(number))
            half.close()
        assert s.process.returncode == 0
    assert min(took) < 1, took


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_messages_that_nobody_takes(script, number):
    """It still runs, answers and ends."""
    with Serve("--replay", script(3, 0.5)) as s:
        fill(s.process.stderr.fileno())
        # It reports that at once.
        s.until(lambda: s.request("/healthz").status == 503, "the replay's end")
        assert s.request("/metrics").status == 200
        assert ended(s.process, number) == 0
        # Everything that the pipe was filled with.
        assert s.read_stderr().strip("#").count("\n") == 1


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told(script, tmp_path, abstract):
    name = f"blklat-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with Manager("\0" + name if abstract else name) as manager:
        # A watchdog of 2.4 s: three heartbeats in that time, although intervals are longer.
        env = {"NOTIFY_SOCKET": ("@" if abstract else "") + name, "WATCHDOG_USEC": "2400000"}
        with Serve("--replay", script(10, 1000), env=env) as s:
            assert manager.next()[1].startswith(b"READY=1\n")
            beats = [manager.next() for _ in range(5)]
            assert {text for _, text in beats} == {b"WATCHDOG=1"}
            gaps = [b - a for (a, _), (b, _) in zip(beats, beats[1:])]
            assert max(gaps) < 2.4 and min(gaps) > 0.4, gaps
            for _ in range(3):
                s.process.send_signal(signal.SIGHUP)
                assert manager.after_beats().startswith(b"RELOADING=1\nMONOTONIC_USEC=")
                assert manager.after_beats() == b"READY=1"
            assert s.request("/metrics").status == 200
            s.stop()
            assert b"STOPPING=1" in manager.rest()


def test_options_of_a_file(script, tmp_path):
    """The command line's own win, wherever they stand; SIGHUP tells whether a restart would bring others."""
    file = tmp_path / "blklat.conf"
    file.write_text(f"replay {script(300, 0.2)}\nbins\nlisten = 127.0.0.1:1\nhistory = 20\nprom-schema = 1\n")

    def said(sentence):
        s.process.send_signal(signal.SIGHUP)
        s.until(lambda: sentence in s.read_stderr(), "message")

    def put(text):
        """All at once: half a file is another one."""
        (tmp_path / "next").write_text(text)
        (tmp_path / "next").replace(file)
    with Serve("--history", "40", "--config", file, "--prom-schema", "2") as s:
        with s.stream() as events:
            assert events.event()[2]["history_s"] == 40
        assert "bins" in s.until(s.snapshot, "interval")[0]["ops"][0]
        same = file.read_text()
        put(same.replace("= 20", "30"))  # of what the command line gives, too
        said(f"blklat serve: {file} has changed: restart the service for it to take effect\n")
        put(same)
        s.process.send_signal(signal.SIGHUP)
        put("bins\nhistory\n")
        said(f"blklat serve: {file}:2: option '--history' needs a value\n")
        assert s.read_stderr().count("has changed") == 1 and s.request("/metrics").status == 200


def test_a_socket_that_is_not_there_is_no_failure(script):
    for path in ("/nowhere/notify", "", "relative", "@", "/" + "x" * 300):
        with Serve("--replay", script(), env={"NOTIFY_SOCKET": path}) as s:
            assert s.request("/metrics").status == 200


def test_nobody_may_run_it_too(script):
    """A replay needs no privilege; if one can't be dropped, that is no failure."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    file = script()
    let_all_reach(file)
    with Serve("--replay", file, prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]) as s:
        assert s.status("Seccomp") == "2" and s.request("/metrics").status == 200


@pytest.mark.parametrize("args", [(), ("--engine", "kmod"), ("--engine", "bpf")], ids=lambda a: a[-1] if a else "any")
def test_no_engine_is_no_wrong_command_line(args):
    """A module may be loaded later, so the service manager has to try again."""
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    r = refused("--dev", "all", *args, prefix=as_nobody)
    assert (r.returncode, r.stderr.count("\n")) == (1, 1) and re.search("not permitted|not loaded", r.stderr), r.stderr
