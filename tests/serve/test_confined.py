# SPDX-License-Identifier: GPL-2.0-only
"""What the processes of a service may not do, tried from inside (intruder.c), and their state, seen from outside."""
import contextlib
import errno
import mmap
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from collector import Collector
from load import wait_until
from service import DEADLINE_S, PLAIN, ROOT, Serve, gone, let_all_reach, refused, status
from service_manager import Manager

INTRUDER = os.environ.get("INTRUDER", str(ROOT / "build/tests/serve/intruder.so"))
NOBODY = pwd.getpwnam("nobody")
AS_NOBODY = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]
# What the capturing process needs for its work. It keeps its user; its devices and sysfs are files.
OF_CAPTURES = {"read a file", "read /etc/shadow", "list a folder", "see a file", "have a process signalled", "be looked into", "control a device",
               "execute memory"}
# The recorder has files of its own, and sees that there are others.
OF_RECORDER = {"see a file"}
OF_PUSHER = {"see a file", "make a TCP socket", "connect", "make a UDP socket", "make a pair of sockets", "control a device"}

# A sanitizer must be loaded first, before an intruder; besides, the shipped program is the one to confine.
pytestmark = pytest.mark.plain
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="not root")
needs_intruder = pytest.mark.skipif(not os.path.exists(INTRUDER), reason="the intruder is not built: make test-programs")


@contextlib.contextmanager
def started(argv, **more):
    """A process that a failing test neither leaves behind nor waits for."""
    with subprocess.Popen(argv, stderr=subprocess.PIPE, **more) as process:
        try:
            yield process
        finally:
            process.kill()


class Victim:
    """Files, a process and a port of user nobody, open to any process of that user unless it is confined."""
    FILES = ("decoy", "cut", "moved", "removed")

    def __init__(self, stack):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blklat-victim-", dir="/dev/shm"))
        stack.callback(shutil.rmtree, self.folder)
        for name in self.FILES:
            (self.folder / name).write_text("as it was")
            shutil.chown(self.folder / name, "nobody")
        shutil.chown(self.folder, "nobody")
        self.results = self.folder.with_suffix(".results")
        self.results.write_bytes(b"\0" * 65536)
        self.results.chmod(0o666)
        stack.callback(self.results.unlink)
        self.process = subprocess.Popen([*AS_NOBODY, "sleep", "1000"])
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        self.socket = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        # Wait until the process belongs to nobody.
        wait_until(lambda: status(self.process.pid, "Name") == "sleep", "start of sleep")
        self.before = self.state()

    def state(self):
        pid = self.process.pid
        return (sorted((f.name, f.read_text(), f.stat().st_mode) for f in self.folder.iterdir() if f.is_file() and not f.is_symlink()),
                sorted(os.listdir(self.folder)), pathlib.Path(f"/proc/{pid}/limits").read_text(), os.getpriority(os.PRIO_PROCESS, pid),
                status(pid, "TracerPid"), self.process.poll())

    def env(self, where):
        return {"LD_PRELOAD": INTRUDER, "INTRUDER_IN": where, "INTRUDER_FOLDER": str(self.folder),
                "INTRUDER_RESULTS": str(self.results), "INTRUDER_DECOY": str(self.process.pid),
                "INTRUDER_PORT": str(self.socket.getsockname()[1])}

    def found(self):
        """{what was tried: errno}, or None until everything was."""
        with open(self.results, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
            if not m[4]:
                return None
            text = m[8:].split(b"\0")[0].decode()
        return {what: int(number) for what, number in re.findall(r"^(.*) (\d+)$", text, re.M)}

    def untouched(self):
        return self.state() == self.before


@pytest.fixture
def victim():
    with contextlib.ExitStack() as stack:
        yield Victim(stack)


def names(numbers):
    return {what: errno.errorcode[number] for what, number in numbers.items() if number}


def tried_elsewhere(*prefix):
    """{what: errno} of an unconfined program, which harms its victim."""
    with contextlib.ExitStack() as stack:
        victim = Victim(stack)
        subprocess.run([*prefix, "env", *(f"{k}={v}" for k, v in victim.env("start").items()), "true"], timeout=DEADLINE_S, check=True)
        assert not victim.untouched()
        return victim.found()


@needs_root
@needs_intruder
def test_what_is_tried_is_let_elsewhere():
    """Either root or nobody may do all of it in an unconfined program, so a refusal below has no other reason."""
    root, nobody = tried_elsewhere(), tried_elsewhere(*AS_NOBODY)
    assert root.keys() == nobody.keys() and len(root) > 40
    assert {what for what in root if root[what] and nobody[what]} == set(), (names(root), names(nobody))


def intrude(victim, where, *args, prefix=()):
    with Serve(*args, env=victim.env(where), prefix=prefix) as s:
        found = s.until(victim.found, "the intruder")
        assert s.request("/healthz").status in (200, 503)
        # Its own state is also inspected from outside, afterwards.
        yield s, found
    assert victim.untouched()


@needs_root
@needs_intruder
@pytest.mark.parametrize("how", ["replay", "all devices", "started by nobody"])
def test_the_server_is_refused_everything(victim, script, need_root, how):
    file = script()
    let_all_reach(file)
    args = ("--dev", "all") if how == "all devices" else ("--replay", file)
    for _, found in intrude(victim, "server", *args, prefix=AS_NOBODY if how == "started by nobody" else ()):
        assert len(found) > 40
        assert set(found.values()) == {errno.EPERM}, {w: n for w, n in found.items() if n != errno.EPERM}


@needs_root
@needs_intruder
@pytest.mark.parametrize("devices", ["replay", "named", "all"])
def test_the_process_that_captures_reads_and_no_more(victim, script, loop, devices):
    args = {"replay": ("--replay", script()), "named": ("--dev", loop.name), "all": ("--dev", "all")}[devices]
    for _, found in intrude(victim, "captures", *args):
        assert len(found) > 40
        let = {what for what, number in found.items() if number != errno.EPERM}
        assert let <= OF_CAPTURES, {w: n for w, n in found.items() if w in let - OF_CAPTURES}


@needs_root
@needs_intruder
def test_the_recorder_writes_to_its_folder_and_no_more(victim, script, tmp_path):
    for s, found in intrude(victim, "recorder", "--replay", script(), "--record", tmp_path):
        assert len(found) > 40
        assert set(found.values()) <= {0, errno.EPERM, errno.EACCES}
        assert {what for what, number in found.items() if not number} <= OF_RECORDER, found
        s.until(lambda: list(tmp_path.glob("2*.blklat")), "a recording")
        assert capabilities(s.recorder) == [0] * 5 and ids(s.recorder)[:2] == [{0}, {0}]
        assert (status(s.recorder, "NoNewPrivs"), status(s.recorder, "Seccomp")) == ("1", "2")
        assert sockets(s.recorder) <= {"unix"}


@needs_root
@needs_intruder
def test_the_process_that_pushes_connects_and_no_more(victim, script):
    file = script()
    let_all_reach(file)
    with Collector() as c:
        for s, found in intrude(victim, "pusher", "--replay", file, "--otlp", c.url, "--otlp-interval", "0.1"):
            assert len(found) > 40
            assert set(found.values()) <= {0, errno.EPERM, errno.EACCES}, names(found)
            assert {what for what, number in found.items() if not number} <= OF_PUSHER, found
            s.until(lambda: c.taken, "a request")
            pid = s.children()["blklat-otlp"]
            assert capabilities(pid) == [0] * 5 and ids(pid) == [{NOBODY.pw_uid}, {NOBODY.pw_gid}, set()]
            assert (status(pid, "NoNewPrivs"), status(pid, "Seccomp")) == ("1", "2")


# --- from outside -------------------------------------------------------------------------------

def capabilities(task):
    return [int(status(task, key), 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]


def ids(pid):
    return [set(map(int, status(pid, key).split())) for key in ("Uid", "Gid", "Groups")]


def sockets(pid):
    """Kinds of sockets that a process holds: inode numbers against the kernel's tables."""
    held = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            held |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(fd)))
    found = set()
    for kind, column in (("tcp", 9), ("tcp6", 9), ("udp", 9), ("udp6", 9), ("raw", 9), ("unix", 6), ("netlink", 9)):
        lines = pathlib.Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
        if held & {line.split()[column] for line in lines}:
            found.add(kind)
    return found


@needs_root
@pytest.mark.parametrize("user", [None, "daemon"])
def test_root_captures_and_somebody_else_serves(script, user):
    entry = pwd.getpwnam(user or "nobody")
    with Serve("--replay", script(), *(("--user", user) if user else ())) as s:
        assert s.request("/healthz").status == 200
        assert ids(s.server) == [{entry.pw_uid}, {entry.pw_gid}, set()]
        assert ids(s.pid)[:2] == [{0}, {0}]
        for task in s.tasks():
            assert capabilities(task) == [0] * 5
            assert (status(task, "NoNewPrivs"), status(task, "Seccomp")) == ("1", "2")
        assert {"tcp"} == sockets(s.server) - {"unix"} and sockets(s.pid) <= {"unix", "netlink"}
        # No process of its user can look into it, not even through /proc.
        assert os.stat(f"/proc/{s.server}/mem").st_uid == 0
        assert re.search(r"^Max core file size +0 +0 ", pathlib.Path(f"/proc/{s.server}/limits").read_text(), re.M)


@needs_root
def test_descriptors_of_who_started_it_are_not_handed_to_the_server(script):
    file = os.open("/etc/shadow", os.O_RDONLY)
    try:
        os.set_inheritable(file, True)
        argv = [PLAIN, "serve", "--listen", "127.0.0.1:0", "--replay", str(script())]
        with started(argv, text=True, pass_fds=[file]) as process:
            assert "listening" in process.stderr.readline()
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            held = {os.readlink(f) for f in pathlib.Path(f"/proc/{children[0]}/fd").iterdir()}
            assert "/etc/shadow" not in held and len(held) > 3
            assert [os.readlink(f"/proc/{children[0]}/fd/{fd}") for fd in (0, 1)] == ["/dev/null"] * 2
            assert "/etc/shadow" in {os.readlink(f) for f in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()}
            process.terminate()
            assert process.wait(DEADLINE_S) == 0
    finally:
        os.close(file)


def test_the_server_holds_nothing_of_captures(need_root, loop):
    """No program and no map, and no mapping of one."""
    with Serve("--dev", loop.name) as s:
        kinds = {re.sub(r"\[\d+\]", "", os.readlink(f)) for f in pathlib.Path(f"/proc/{s.server}/fd").iterdir()}
        assert not any("bpf" in kind for kind in kinds), kinds
        assert "bpf-map" not in pathlib.Path(f"/proc/{s.server}/maps").read_text()
        assert "bpf-map" in pathlib.Path(f"/proc/{s.pid}/maps").read_text()


@pytest.mark.parametrize("user,sentence", [("nosuchuser", "there is no user 'nosuchuser'"), ("root", "must not run as 'root'")])
@needs_root
def test_users_that_it_can_not_be(script, user, sentence):
    r = refused("--replay", script(), "--user", user)
    assert r.returncode == 2 and sentence in r.stderr and r.stderr.count("\n") == 1, r.stderr


@needs_root
def test_only_root_has_a_user_to_choose(script):
    file = script()
    let_all_reach(file)
    r = refused("--replay", file, "--user", "daemon", prefix=AS_NOBODY)
    assert r.returncode == 2 and "only root" in r.stderr and r.stderr.count("\n") == 1, r.stderr


@needs_root
def test_root_that_may_not_change_its_user_does_not_serve(script):
    """As in some containers. Better no server than one that runs as root."""
    r = refused("--replay", script(), prefix=("setpriv", "--bounding-set=-setuid"))
    assert r.returncode == 1 and "could not become user 'nobody'" in r.stderr and r.stderr.count("\n") == 1, r.stderr


# --- together and apart ---------------------------------------------------------------------------

@pytest.mark.parametrize("where, status, said", [
    ("bounds", 1, "blklat serve: could not give up capabilities"),
    ("threads", -signal.SIGABRT, "blklat: a thread could not give up its capabilities")])
@needs_intruder
@needs_root
def test_what_keeps_its_privileges_does_not_serve(script, tmp_path, where, status, said):
    web = tmp_path / "web.yml"
    web.write_text("")
    r = refused("--replay", script(), "--web-config", web, env={"LD_PRELOAD": INTRUDER, "INTRUDER_IN": where})
    # The server may have something to say to that.
    assert r.returncode == status and said in r.stderr.splitlines(), (r.returncode, r.stderr)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_service_ends_with_its_server(script, number):
    with Serve("--replay", script(10, 1000)) as s:
        os.kill(s.server, number)
        assert s.process.wait(DEADLINE_S) == 1
        said = s.read_stderr().splitlines()
        assert said[1:] == [f"blklat serve: the web server was ended by signal {number:d} ({signal.strsignal(number)})"]


@pytest.mark.parametrize("hangs", [False, pytest.param(True, marks=needs_intruder)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_the_service(script, number, hangs):
    """However it ends, also when the server hangs."""
    with Serve("--replay", script(10, 1000), env={"LD_PRELOAD": INTRUDER, "INTRUDER_IN": "hang"} if hangs else {}) as s:
        server = s.server
        s.process.send_signal(number)
        assert s.process.wait(DEADLINE_S) == (0 if number == signal.SIGTERM else -number)
        wait_until(lambda: gone(server), "end of the server")


def test_a_server_of_the_same_user_is_killed(script):
    """The kernel kills it, whatever it does. Root without capabilities could not kill another user's process."""
    file = script(10, 1000)
    let_all_reach(file)
    with Serve("--replay", file, prefix=AS_NOBODY if os.geteuid() == 0 else ()) as s:
        server = s.server
        os.kill(server, signal.SIGSTOP)
        s.kill()
        wait_until(lambda: gone(server), "end of the server")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_both_is_no_failure(script, number):
    """Ctrl-C and a service manager send it to the whole group."""
    argv = [PLAIN, "serve", "--listen", "127.0.0.1:0", "--replay", str(script(10, 1000))]
    with started(argv, text=True, start_new_session=True) as process:
        assert "listening" in process.stderr.readline()
        os.killpg(process.pid, number)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr.read() == ""


def test_a_server_that_stands_still_holds_up_neither_intervals_nor_the_end(script):
    """Totals go on; when the server continues it has them all."""
    with Serve("--replay", script(20000, 0.01)) as s:
        server = s.server
        s.until(lambda: s.metrics()["blklat_capture_intervals_total"] > 3, "intervals")
        os.kill(server, signal.SIGSTOP)
        time.sleep(2)
        os.kill(server, signal.SIGCONT)
        values = s.until(lambda: (v := s.metrics())["blklat_capture_intervals_total"] > 100 and v, "the intervals meanwhile")
        # Each interval of the script has a thousand reads.
        assert values['blklat_io_latency_seconds_count{device="nvme0n1",op="read",stage="device"}'] == \
            1000 * values["blklat_capture_intervals_total"]
        os.kill(server, signal.SIGSTOP)
        assert s.stop() < 10
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)


@needs_intruder
def test_a_server_can_not_have_the_captures_wait(script, tmp_path):
    """It makes all its descriptors blocking, and then gives no more signs of life: intervals go on, and the service can end."""
    with Manager(str(tmp_path / "notify")) as manager:
        env = {"LD_PRELOAD": INTRUDER, "INTRUDER_IN": "stall", "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "300000"}
        with Serve("--replay", script(20000, 0.01), env=env) as s:
            server = s.server
            try:
                for _ in range(50):     # heartbeats of 5 s, before each of which it is asked for a sign of life
                    manager.next()
                before = int(status(s.pid, "voluntary_ctxt_switches"))
                s.until(lambda: int(status(s.pid, "voluntary_ctxt_switches")) > before + 50, "intervals")
                s.process.send_signal(signal.SIGTERM)
                assert s.process.wait(DEADLINE_S) == 0
            finally:
                os.kill(server, signal.SIGKILL)


@needs_intruder
@pytest.mark.parametrize("end", [False, True])
def test_a_server_that_hangs_is_to_be_another(script, tmp_path, end):
    """Users are read again, but the present server does not end: the service ends, and does not wait for it when told to end."""
    web = tmp_path / "web.yml"
    web.write_text("{}")
    with Serve("--replay", script(10, 1000), "--web-config", web, env={"LD_PRELOAD": INTRUDER, "INTRUDER_IN": "hang"}) as s:
        server = s.server
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        if end:
            assert s.stop() < 10
        else:
            assert s.process.wait(DEADLINE_S) == 1
            assert "blklat serve: the web server was ended by signal 9 (Killed)" in s.read_stderr().splitlines()
        wait_until(lambda: gone(server), "end of the server")


@needs_intruder
def test_a_server_that_hangs_is_no_sign_of_life(script, tmp_path):
    """The capture goes on, but the watchdog is no longer fed after a little more than 20 s."""
    with Manager(str(tmp_path / "notify")) as manager:
        env = {"LD_PRELOAD": INTRUDER, "INTRUDER_IN": "hang", "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "2400000"}
        with Serve("--replay", script(10, 1000), env=env) as s:
            assert manager.next()[1].startswith(b"READY=1\n")
            began = time.monotonic()
            beats = 0
            manager.socket.settimeout(5)
            with contextlib.suppress(TimeoutError):
                while time.monotonic() < began + DEADLINE_S:
                    assert manager.next()[1] == b"WATCHDOG=1"
                    beats += 1
            assert beats and time.monotonic() < began + DEADLINE_S
            assert s.process.poll() is None
