# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of 'blklat serve' share: everything on loopback, with ports chosen by the kernel."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "host"), str(HERE.parent / "cli"), str(HERE.parent / "prom")]

import devices  # noqa: E402
import service  # noqa: E402
from script import write_recording  # noqa: E402
from slots import Slots  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "plain: looks at threads, memory or time, of which a sanitizer has or takes its own")


@pytest.fixture(autouse=True)
def binary(request, monkeypatch):
    """Tests that inspect the process from outside use the shipped program."""
    if request.node.get_closest_marker("plain"):
        monkeypatch.setattr(service, "BLKLAT", service.PLAIN)


@pytest.fixture
def descriptors():
    """As many as hundreds of connections take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), max(hard, 4096)))


@pytest.fixture
def need_root():
    if os.geteuid() != 0:
        pytest.skip("not root")
    for program in ("fio", "losetup"):
        if not shutil.which(program):
            pytest.skip(f"no {program}")
    if not os.path.exists("/dev/loop-control"):
        pytest.skip("no loop devices")


@pytest.fixture
def loop(need_root):
    with devices.loop() as device:
        yield device


@pytest.fixture
def slots(need_root):
    s = Slots()
    with s.undo:
        yield s


@pytest.fixture
def script(tmp_path):
    """A function that makes a recording to replay: number and length of intervals, and one or more devices."""
    def make(intervals=100, seconds=0.1, **more):
        return write_recording(service.script_of(intervals, seconds, **more), tmp_path / "run.blklat")
    return make


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    folder = tmp_path_factory.mktemp("tls")
    for name in ("one", "two"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"], check=True, capture_output=True)
    return folder
