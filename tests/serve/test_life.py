# SPDX-License-Identifier: GPL-2.0-only
"""A service from its start to its end: signals, the service manager, what it gives up."""
import os
import signal
import socket
import subprocess
import time

import pytest
from service import BLKLAT, Serve


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_within_a_second(script, number):
    """Also while streams are open and a request is half sent."""
    with Serve("--replay", script(1000, 5)) as s:
        half = s.raw(b"GET /metrics HTTP/1.1\r\n")
        with s.stream():
            s.stop(number)
        half.close()
        assert not os.path.exists(f"/proc/{s.pid}/stat") or s.process.returncode == 0


def test_hangup_does_not_end_it(script):
    with Serve("--replay", script()) as s:
        for _ in range(3):
            s.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        assert s.request("/metrics").status == 200


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told(script, tmp_path, abstract):
    name = f"blklat-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name if abstract else name)
        manager.settimeout(5)
        # A watchdog of 0.9 s: three beats in it, though intervals are longer.
        env = {"NOTIFY_SOCKET": ("@" if abstract else "") + name, "WATCHDOG_USEC": "900000"}
        with Serve("--replay", script(1000, 5), env=env) as s:
            assert manager.recv(1000).startswith(b"READY=1\n")
            times = []
            while len(times) < 6:
                assert manager.recv(1000) == b"WATCHDOG=1"
                times.append(time.monotonic())
            assert max(b - a for a, b in zip(times, times[1:])) < 0.9
            s.process.send_signal(signal.SIGHUP)
            said = [m for m in (manager.recv(1000) for _ in range(4)) if m != b"WATCHDOG=1"]
            assert said[0].startswith(b"RELOADING=1\nMONOTONIC_USEC=") and said[1] == b"READY=1"
            s.stop()
            manager.settimeout(1)
            last = []
            try:
                while True:
                    last.append(manager.recv(1000))
            except TimeoutError:
                pass
            assert b"STOPPING=1" in last


def test_a_socket_that_is_not_there_is_no_failure(script):
    for path in ("/nowhere/notify", "", "relative", "@", "/" + "x" * 300):
        with Serve("--replay", script(), env={"NOTIFY_SOCKET": path}) as s:
            assert s.request("/metrics").status == 200



def test_nothing_is_kept(script):
    """No capability, no way back to any, system calls filtered; in each of its threads."""
    with Serve("--replay", script()) as s:
        tasks = os.listdir(f"/proc/{s.pid}/task")
        assert len(tasks) == 2
        for task in tasks:
            for key in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                assert int(s.status(key, task), 16) == 0, key
            if os.geteuid() == 0:
                assert int(s.status("CapBnd", task), 16) == 0
            assert (s.status("NoNewPrivs", task), s.status("Seccomp", task)) == ("1", "2")


def test_nobody_may_run_it_too(script):
    """A replay needs no privilege; what can't be dropped is no failure."""
    if os.geteuid() != 0:
        pytest.skip("not root")
    file = script()
    for path in (file.parent, file.parent.parent, file.parent.parent.parent):
        path.chmod(0o755)
    with Serve("--replay", file, prefix=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]) as s:
        assert s.status("Seccomp") == "2" and s.request("/metrics").status == 200


def test_wrong_command_lines():
    for args, sentence in (
            ((), "no device given"), (("--dev", "nosuchdevice"), "nosuchdevice"), (("--prom-schema", "7", "--dev", "x"), "--prom-schema '7'"),
            (("--history", "x", "--dev", "x"), "--history 'x'"), (("--format", "json", "--dev", "x"), "unrecognized option '--format'"),
            (("--replay", "/nowhere"), "/nowhere")):
        r = subprocess.run([BLKLAT, "serve", "--listen", "127.0.0.1:0", *args], capture_output=True, text=True, timeout=20)
        assert r.returncode == 2 and sentence in r.stderr and r.stderr.count("\n") == 1, r.stderr
