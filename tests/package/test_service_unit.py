# SPDX-License-Identifier: GPL-2.0-only
"""The unit, as far as it can be tested without a running systemd; tests/vm/service_guest.py runs it."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT, RECORD = ROOT / "packaging/blklat.service", ROOT / "packaging/blklat-record@.service"
CONFIG = ROOT / "packaging/blklat.conf"
BLKLAT = os.environ.get("BLKLAT", "build/blklat")
MOST_EXPOSURE = 2.0
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


def settings(unit=UNIT):
    """{key: [values]} of the unit, in order."""
    found = {}
    for line in unit.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def exposure(unit):
    r = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", str(unit)], capture_output=True, text=True,
                       env=os.environ | {"LC_ALL": "C.UTF-8"}, timeout=60)
    told = re.search(r"Overall exposure level for \S+: ([\d.]+)", r.stdout)
    assert told, r.stdout + r.stderr
    return float(told[1])


@needs_systemd
def test_exposure(tmp_path):
    assert exposure(UNIT) < MOST_EXPOSURE and exposure(RECORD) < exposure(UNIT)
    # Without the unit's restrictions the exposure is far above the limit.
    bare = tmp_path / "blklat.service"
    bare.write_text("[Service]\nType=notify\nExecStart=/usr/sbin/blklat serve\n")
    assert exposure(bare) > 4 * MOST_EXPOSURE


@needs_systemd
@pytest.mark.parametrize("source, name", [(UNIT, "blklat.service"), (RECORD, "blklat-record@nvme0n1.service")])
def test_verify(tmp_path, source, name):
    """All settings are known, with valid values, and the program exists."""
    unit = tmp_path / name
    text = source.read_text().replace("/usr/sbin/blklat", str(pathlib.Path(BLKLAT).resolve()))

    def verify(text):
        unit.write_text(text)
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60,
                           env=os.environ | {"LC_ALL": "C.UTF-8"})
        return [line for line in (r.stdout + r.stderr).splitlines() if str(unit) in line or name in line]

    assert verify(text) == []
    assert verify(text.replace("#StateDirectory=", "StateDirectory=")) == [] and "StateDirectory=blklat" in text
    assert verify(text.replace("WatchdogSec=30", "WatchdogSec=soon"))
    assert verify(text.replace("ProtectClock=", "ProtectClocks="))


def test_a_recorder_may_do_no_more():
    """It needs no network, and has a folder to write to."""
    server, recorder = settings(), settings(RECORD)
    changed = {key for key in server.keys() | recorder.keys() if server.get(key) != recorder.get(key)}
    assert changed == {"Description", "After", "Environment", "EnvironmentFile", "ExecStart", "StateDirectory", "RestrictAddressFamilies"}
    assert recorder["RestrictAddressFamilies"] == ["AF_UNIX AF_NETLINK"] and recorder["StateDirectory"] == ["blklat-record/%i"]
    assert recorder["ExecStart"] == ["/usr/sbin/blklat serve --listen none --record ${STATE_DIRECTORY} --dev %I $ARGS"]


def test_capabilities():
    s = settings()
    assert s["CapabilityBoundingSet"] == s["AmbientCapabilities"] == ["CAP_BPF CAP_PERFMON"]
    assert (s["NoNewPrivileges"], s["DynamicUser"]) == (["yes"], ["yes"])


def test_life():
    s = settings()
    assert (s["Type"], s["WatchdogSec"], s["EnvironmentFile"]) == (["notify"], ["30"], ["-/etc/default/blklat"])
    assert s["ExecStart"] == ["/usr/sbin/blklat serve --config /etc/blklat/blklat.conf $ARGS"]


def configurations():
    """The packaged file, and it with what it proposes in comments."""
    text = CONFIG.read_text()
    return [text, re.sub(r"^#(?=[\w-]+ = )", "", text, flags=re.M)]


def test_the_packaged_file_watches_everything():
    assert re.findall(r"^[^#\n].*", configurations()[0], re.M) == ["dev = all"]
    # Without ARGS of /etc/default/blklat nothing is added.
    assert settings()["Environment"] == ["ARGS="]


@pytest.mark.parametrize("text", configurations())
def test_the_packaged_file_is_valid(text, tmp_path):
    """So is all that it proposes; only the folders are others here."""
    file = tmp_path / "blklat.conf"
    file.write_text(text.replace("/var/lib/blklat", str(tmp_path)))
    r = subprocess.run([BLKLAT, "check", "--config", str(file)], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stderr) == (0, "")
    assert len(re.findall(r"^[\w-]+ = ", configurations()[1], re.M)) > 8


def test_a_recorder_has_options_that_are_understood():
    words = settings(RECORD)["ExecStart"][0].replace("${STATE_DIRECTORY}", "/tmp").replace("%I", "'nvme*n1'").replace(
        "$ARGS", re.search(r'^Environment="ARGS=(.*)"$', RECORD.read_text(), re.M)[1])
    r = subprocess.run([BLKLAT, *shlex.split(words)[1:], "--no-such"], capture_output=True, text=True, timeout=60)
    assert r.returncode == 2 and "unrecognized option '--no-such'" in r.stderr
