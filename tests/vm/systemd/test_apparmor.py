# SPDX-License-Identifier: GPL-2.0-only
"""The profile of packaging/apparmor: the service does under it what it is for, and a process that has it nothing else."""
import pathlib
import socket
import subprocess

import pytest
from alarms import kernel_log
from manager import CONFIG, get, ios, main_pid, run, wait_for

PROFILE = "/usr/share/doc/blklat/examples/apparmor/blklat"
DROP_IN = "[Service]\nAppArmorProfile=blklat\nStateDirectory=blklat\nLoadCredential=web.yml:/etc/blklat/web.yml\n"
OPTIONS = "dev = all\nslow = 1us\nrecord = /var/lib/blklat\nweb-config = /run/credentials/blklat.service/web.yml\notlp-interval = 1s\n"


def denied():
    return [line for line in kernel_log() if 'apparmor="DENIED"' in line and 'profile="blklat"' in line]


@pytest.fixture(scope="module", autouse=True)
def loaded(package):
    # No line of the log is suppressed.
    run("sysctl", "kernel.printk_ratelimit=0")
    run("apparmor_parser", "-r", PROFILE)


@pytest.mark.restarts
@pytest.mark.drop_in(DROP_IN)
def test_it_does_what_it_is_for():
    """It watches a device that comes, serves, reports, records, pushes, and reloads; nothing was denied."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        collector.settimeout(180)
        pathlib.Path("/etc/blklat/web.yml").write_text("")
        CONFIG.write_text(f"{OPTIONS}otlp = http://localhost:{collector.getsockname()[1]}\n")
        run("systemctl", "restart", "blklat")
        pid = main_pid()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert {pathlib.Path(f"/proc/{p}/attr/current").read_text() for p in (pid, *children)} == {"blklat (enforce)\n"}
        run("modprobe", "null_blk", "nr_devices=1", "gb=1")
        wait_for(lambda: 'device="nullb0"' in get("/metrics"), "nullb0")
        run("dd", "if=/dev/zero", "of=/dev/nullb0", "oflag=direct", "bs=4k", "count=1000")
        wait_for(lambda: ios("nullb0", "write") >= 1000, "interval")
        assert ios("nullb0", "write") == 1000
        get("/api/report", "--retry", "60", "--retry-delay", "1")
        run("systemctl", "reload", "blklat")
        collector.accept()
        assert main_pid() == pid
    run("systemctl", "stop", "blklat")
    run("udevadm", "settle")
    run("modprobe", "-r", "null_blk")
    assert '"device":"nullb0"' in run("blklat", "report", "-f", "json", "/var/lib/blklat")
    assert denied() == []


@pytest.mark.restarts
def test_so_does_a_recorder():
    folder = pathlib.Path("/run/systemd/system/blklat-record@.service.d")
    folder.mkdir(parents=True)
    (folder / "test.conf").write_text("[Service]\nAppArmorProfile=blklat\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "blklat-record@vda")
    wait_for(lambda: denied() or '"device":"vda"' in run("blklat", "report", "-f", "json", "/var/lib/blklat-record/vda", fails=True), "recording", 90)
    run("systemctl", "stop", "blklat-record@vda")
    assert denied() == []


@pytest.mark.parametrize("words, what", [
    ("report -f json /etc/shadow", "/etc/shadow"),
    ("record --dev vda --duration 1 -o /var/lib/other.blklat", "/var/lib/other.blklat"),
    ("record --dev vda --overwrite -o /var/lib/blklat-record/x.blklat -- /usr/bin/true", "/usr/bin/true")])
def test_it_does_nothing_else(words, what):
    """As root, whom nothing else refuses to read what others may not, to write elsewhere, or to run a program."""
    confined, free = (subprocess.run([*by, "blklat", *words.split()], capture_output=True, text=True, timeout=240).stderr
                      for by in (("aa-exec", "-p", "blklat", "--"), ()))
    assert what in confined and "Permission denied" in confined and "Permission denied" not in free, (confined, free)
    assert any(f'name="{what}"' in line for line in denied())
