# SPDX-License-Identifier: GPL-2.0-only
"""On a kernel that takes only signed modules: which one it takes, how it refuses others, and what blklat then says."""
import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / folder) for folder in ("", "vm/guest", "vm", "host")]

from alarms import quiet_kernel  # noqa: E402
from engines import both  # noqa: E402
from guest import SINGLE, virtio  # noqa: E402
from load import BLKLAT, fio  # noqa: E402

OUT = pathlib.Path(os.environ["VM_OUT"])
REJECTED = "Key was rejected by service"


@pytest.fixture(autouse=True)
def log():
    with quiet_kernel() as since:
        yield since


def insmod(name):
    return subprocess.run(["insmod", str(OUT / f"{name}.ko")], capture_output=True, text=True)


def test_this_kernel_takes_only_signed_ones():
    assert pathlib.Path("/sys/module/module/parameters/sig_enforce").read_text() == "Y\n"
    assert "[integrity]" in pathlib.Path("/sys/kernel/security/lockdown").read_text()
    keys = pathlib.Path("/proc/keys").read_text()
    assert "blklat test known" in keys and "blklat test unknown" not in keys


@pytest.mark.parametrize("name,reason", [("unsigned", "unsigned module"), ("unknown", "module with unavailable key")])
def test_others_are_refused(log, name, reason):
    r = insmod(name)
    assert r.returncode and REJECTED in r.stderr
    assert [line for line in log() if f"Loading of {reason} is rejected" in line]
    tried = subprocess.run([BLKLAT, "--engine", "kmod", "--dev", virtio().name, "--count", "1"], capture_output=True, text=True)
    assert (tried.returncode, tried.stdout, tried.stderr.count("\n")) == (2, "", 1)
    assert "takes only modules that are signed by a key that it trusts: sign it ('make kmod-sign')" in tried.stderr


def test_a_changed_one_is_refused():
    """Changed by one letter that nothing depends on."""
    module = (OUT / "known.ko").read_bytes()
    (OUT / "changed.ko").write_bytes(module.replace(b"description=", b"descriptiom=", 1))
    assert (OUT / "changed.ko").read_bytes() != module
    r = insmod("changed")
    assert r.returncode and REJECTED in r.stderr


def test_the_signed_one_counts():
    """It counts what BPF counts, which this lockdown permits."""
    device = virtio()
    with both(device) as engines:
        done = fio(device, number_ios=500, rw="randrw", **SINGLE)
        engines.settle()
    engines.agree(device)
    assert engines.kmod.ops() == {"read": done.ios("read"), "write": done.ios("write")}
