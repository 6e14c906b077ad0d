# SPDX-License-Identifier: GPL-2.0-only
"""The packaged service: what it reports, what it may do, how it runs and ends."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from manager import CONFIG, DEFAULTS, OUT, URL, get, ios, log, main_pid, run, show, wait_for

CAP_BPF, CAP_PERFMON = 39, 38
BOUNDING = 1 << CAP_BPF | 1 << CAP_PERFMON
BCRYPT_OF_SECRET = "$2b$04$MoN/U6uk5qDR6V5ahgGfH.WRGXTLfmWtcwAeS4Py2ng78KJMQnK1y"
NOBODY_IN_PARTICULAR = range(61184, 65520)  # systemd's DynamicUser


def status_of(task):
    return dict(re.findall(r"^(\w+):\s*(.*)$", pathlib.Path(task, "status").read_text(), re.M))


def server_pid():
    """The process that talks to the network: the only child."""
    return int(pathlib.Path(f"/proc/{main_pid()}/task/{main_pid()}/children").read_text())


def tasks():
    """All threads of both processes."""
    return sorted(task for pid in (main_pid(), server_pid()) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def completed(device):
    """The kernel's own count of reads and writes."""
    fields = pathlib.Path(f"/sys/block/{device}/stat").read_text().split()
    return {"read": int(fields[0]), "write": int(fields[4])}


def test_ready_when_it_watches():
    assert show("ActiveState", "SubState", "StatusText", "NRestarts") == ["active", "running", "Watching", "0"]
    assert show("WatchdogUSec", "RestartUSec") == ["30s", "5s"]
    assert get("/healthz") == "ok\n"
    wait_for(lambda: "listening on http://127.0.0.1:9834/" in log(), "address")


def test_a_device_that_comes_later():
    """Uevents get through the sandbox, and the kept capabilities are enough for another capture."""
    run("modprobe", "null_blk", "nr_devices=1", "gb=1")
    try:
        wait_for(lambda: "nullb0 is watched now" in log(), "nullb0")
        kernel = completed("nullb0")["write"]
        run("dd", "if=/dev/zero", "of=/dev/nullb0", "oflag=direct", "bs=4k", "count=1000")
        assert completed("nullb0")["write"] - kernel == 1000
        wait_for(lambda: ios("nullb0", "write") >= 1000, "interval")
        assert ios("nullb0", "write") == 1000
    finally:
        # udev reads a disk that was written to.
        run("udevadm", "settle")
        run("modprobe", "-r", "null_blk")
    wait_for(lambda: "nullb0 went away" in log(), "end of nullb0")
    assert get("/healthz") == "ok\n"


def at_rest():
    """The threads' state while none has an effective capability, as one has for moments to open a capture."""
    seen = [status_of(task) for task in tasks()]
    return seen if len(seen) >= 2 and not any(int(s["CapEff"], 16) for s in seen) else None


def test_capabilities():
    """None effective; the bounding set is the unit's; only the process that captures has some permitted."""
    seen = wait_for(at_rest, "threads with nothing in effect")
    for s in seen:
        assert (int(s["CapEff"], 16), int(s["CapInh"], 16), int(s["CapAmb"], 16)) == (0, 0, 0), s["Name"]
        assert int(s["CapBnd"], 16) == BOUNDING
        assert int(s["CapPrm"], 16) & ~BOUNDING == 0
        assert (s["NoNewPrivs"], s["Seccomp"]) == ("1", "2")
        assert set(map(int, s["Uid"].split())) <= set(NOBODY_IN_PARTICULAR)
        assert 0 not in map(int, s["Gid"].split()) and s["Groups"].split() in ([], [s["Gid"].split()[0]])
    assert sorted({int(s["CapPrm"], 16) for s in seen}) == [0, BOUNDING]
    for task in pathlib.Path(f"/proc/{server_pid()}/task").iterdir():
        assert int(status_of(task)["CapPrm"], 16) == 0


def test_the_thread_that_captures_is_on_time():
    """Its resource limit gives it a real-time priority without a capability; the other threads have none."""
    policies = {int(task.name): os.sched_getscheduler(int(task.name)) & ~os.SCHED_RESET_ON_FORK for task in tasks()}
    assert policies.pop(main_pid()) == os.SCHED_FIFO
    assert set(policies.values()) == {os.SCHED_OTHER}
    assert "no real-time priority" not in log()


@pytest.mark.restarts
def test_named_devices_keep_no_capability():
    """Named by a path, which the sandbox does not hide."""
    CONFIG.write_text("dev = /dev/vda\n")
    run("systemctl", "restart", "blklat")
    assert {int(status_of(task)["CapPrm"], 16) for task in tasks()} == {0}
    wait_for(lambda: 'blklat_io_started_total{device="vda"' in get("/metrics"), "interval")


def test_sees_and_writes_nothing_else():
    """In the process's mount namespace, as root, so that only the mounts can refuse."""
    def inside(*argv):
        return run("nsenter", "-t", main_pid(), "-m", "--", *argv, fails=True)

    for path in ("/etc/new", "/usr/new", "/var/new", "/sys/block/vda/queue/scheduler"):
        assert inside("sh", "-c", f"echo none >{path} && echo written") == "", path
    assert inside("ls", "-A", "/home", "/root").split() == ["/home:", "/root:"]
    assert inside("sh", "-c", "ls /proc | grep -vc '^[0-9]'").strip() in ("2", "3", "4")  # self, thread-self, mounts
    pid = main_pid()
    assert os.stat("/tmp").st_ino != os.stat(f"/proc/{pid}/root/tmp").st_ino or \
        os.stat("/tmp").st_dev != os.stat(f"/proc/{pid}/root/tmp").st_dev


def test_no_device_can_be_opened():
    """By a process in its control group, as root, so that only the device policy can refuse."""
    group = show("ControlGroup")
    script = f"echo $$ >/sys/fs/cgroup{group}/cgroup.procs; head -c 512 {{}} >/dev/null && echo opened"
    assert run("sh", "-c", script.format("/dev/vda"), fails=True) == ""
    assert run("sh", "-c", script.format("/dev/zero")) == "opened\n"


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nWatchdogSec=9\n")
def test_watchdog():
    """Heartbeats come in time; when they don't, the service is killed and restarted."""
    run("systemctl", "restart", "blklat")
    pid, beats = main_pid(), set()
    # Longer than one watchdog period.
    wait_for(lambda: beats.add(show("WatchdogTimestampMonotonic")) or len(beats) > 4, "beats")
    assert (main_pid(), show("NRestarts")) == (pid, "0")
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: show("NRestarts") == "1" and show("ActiveState") == "active", "restart")
    assert main_pid() != pid
    assert get("/healthz") == "ok\n"


def test_reload_keeps_it_running():
    pid = main_pid()
    run("systemctl", "reload", "blklat")
    wait_for(lambda: show("ActiveState") == "active", "end of the reload")
    assert (main_pid(), show("NRestarts"), get("/healthz")) == (pid, "0", "ok\n")


@pytest.mark.restarts
def test_arguments_of_the_older_file():
    """They are added to the options of the other one, and win."""
    CONFIG.write_text("dev = all\nbins\n")
    DEFAULTS.write_text('ARGS="--dev vda"\n')
    run("systemctl", "restart", "blklat")
    seen = []

    def ops():
        lines = get("/api/snapshot", "--retry", "60", "--retry-delay", "1").splitlines()  # 503 until the first interval
        seen.extend(map(json.loads, lines))
        return [op for line in seen for op in line["ops"]]
    # An interval without IO has no bins.
    load = subprocess.Popen(["sh", "-c", "while dd if=/dev/vda of=/dev/null iflag=direct bs=4k count=100 2>/dev/null; do :; done"])
    try:
        found = wait_for(ops, "interval with IO")
    finally:
        load.kill()
        load.wait()
    assert {line["device"] for line in seen} == {"vda"} and all("bins" in op for op in found)


def test_reload_tells_of_changed_options():
    CONFIG.write_text("dev = vda\n")
    run("systemctl", "reload", "blklat")
    wait_for(lambda: "/etc/blklat/blklat.conf has changed: restart the service for it to take effect" in log(), "message")
    assert show("ActiveState", "NRestarts") == ["active", "0"]


@pytest.mark.restarts
def test_stop():
    """Clean: status 0, no kill, nobody listens. Ending does not wait for the interval; a second of a real machine is several here."""
    CONFIG.write_text("dev = all\ninterval = 300\n")
    run("systemctl", "restart", "blklat")
    begin = time.monotonic()
    run("systemctl", "stop", "blklat")
    assert time.monotonic() - begin < 20
    assert show("ActiveState", "Result", "NRestarts") == ["inactive", "success", "0"]
    wait_for(lambda: "blklat.service: Deactivated successfully." in log().splitlines()[-3:], "end of the unit")
    assert run("curl", "-sS", "--fail", URL + "/metrics", fails=True) == ""


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nRestartSec=1\n")
def test_what_another_start_may_cure_is_tried_again():
    """The second start uses the file as it is by then."""
    CONFIG.write_text("dev = all\nmax-memory = 1K\n")
    run("systemctl", "restart", "blklat", fails=True)
    wait_for(lambda: log().count("the counters need") >= 2, "another start")
    wait_for(lambda: show("ExecMainStatus") == "1", "status 1")
    CONFIG.write_text("dev = all\n")
    wait_for(lambda: show("ActiveState") == "active", "a start that is cured")
    assert get("/healthz") == "ok\n"


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nRestartSec=1\n")
def test_a_wrong_option_is_not_tried_again():
    """The service fails at once and stays so: while it waits for another start it is 'activating'."""
    CONFIG.write_text("dev = all\nno-such\n")
    run("systemctl", "restart", "blklat", fails=True)
    wait_for(lambda: show("ActiveState") == "failed", "failure")
    assert show("ActiveState", "ExecMainStatus", "NRestarts") == ["failed", "2", "0"]
    assert "/etc/blklat/blklat.conf:2: unrecognized option '--no-such'" in log()


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nLoadCredential=web.yml:/etc/blklat/web.yml\n")
def test_passwords_by_credentials():
    """As docs/fleet.md says: files that only root can read."""
    folder = pathlib.Path("/etc/blklat")
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "web.yml").write_text(f"basic_auth_users:\n  prometheus: {BCRYPT_OF_SECRET}\n")
    (folder / "web.yml").chmod(0o600)
    CONFIG.write_text("dev = all\nweb-config = /run/credentials/blklat.service/web.yml\n")
    run("systemctl", "restart", "blklat")
    assert "blklat_build_info" in get("/metrics", "-u", "prometheus:secret")
    assert run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", URL + "/metrics") == "401"


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nStateDirectory=blklat\n")
def test_recordings():
    """As docs/fleet.md says: one line, and the sandbox lets the recorder wait for its disk."""
    CONFIG.write_text("dev = all\nrecord = /var/lib/blklat\n")
    run("systemctl", "restart", "blklat")
    wait_for(lambda: '"device":"vda"' in run("sh", "-c", "blklat report -f json /var/lib/blklat 2>&1", fails=True), "recording")
    run("systemctl", "stop", "blklat")
    assert "recorder" not in log() and "is not recorded" not in log()
    # It ended in order: nothing is left beside the recordings.
    assert {file.suffix for file in pathlib.Path("/var/lib/blklat/").iterdir()} == {".blklat"}


@pytest.mark.restarts
@pytest.mark.drop_in("[Service]\nUser=root\nDeviceAllow=/dev/blklat rw\nDeviceAllow=block-* r\n"
                     "CapabilityBoundingSet=CAP_SETUID CAP_SETGID\nSystemCallFilter=@setuid\n")
def test_module_instead_of_bpf():
    """As docs/fleet.md says: as root, which opens the module's device, and the watched devices to pass them to it."""
    run("insmod", OUT / "blklat.ko")
    try:
        CONFIG.write_text("dev = vda\nengine = kmod\n")
        run("systemctl", "restart", "blklat")
        wait_for(lambda: 'blklat_capture_info{engine="kmod"} 1' in get("/metrics"), "interval")
        before, kernel = ios("vda", "read"), completed("vda")
        run("dd", "if=/dev/vda", "of=/dev/null", "iflag=direct", "bs=4k", "count=100")
        assert completed("vda")["read"] - kernel["read"] >= 100
        wait_for(lambda: ios("vda", "read") - before == completed("vda")["read"] - kernel["read"], "equal counts")
        assert {int(status_of(task)["CapPrm"], 16) for task in tasks()} == {0}
        # Root captures, nobody serves.
        owners = [status_of(f"/proc/{pid}")["Uid"].split() for pid in (main_pid(), server_pid())]
        assert owners == [["0"] * 4, ["65534"] * 4]
    finally:
        run("systemctl", "stop", "blklat")
        run("rmmod", "blklat")


def test_remove_while_it_runs():
    """The last test: removal stops the service, and after a purge no trace is left in systemd."""
    pid = main_pid()
    run("dpkg", "-P", "blklat")
    assert not pathlib.Path(f"/proc/{pid}").exists()
    assert show("LoadState", "ActiveState") == ["not-found", "inactive"]
    run("dpkg", "-i", next(OUT.glob("blklat_*.deb")))
