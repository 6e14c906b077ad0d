# SPDX-License-Identifier: GPL-2.0-only
"""The package is installed once; every test begins with the service running, or at least configured, as packaged."""
import shutil

import pytest

from alarms import quiet_kernel
from manager import CONFIG, DEFAULTS, DROP_INS, OUT, run, show


def pytest_configure(config):
    config.addinivalue_line("markers", "restarts: begins by a restart of the service with its own configuration")


@pytest.fixture(scope="session", autouse=True)
def package():
    # Afterwards udev reads nothing more of the disks.
    run("udevadm", "settle")
    run("dpkg", "-i", next(OUT.glob("blklat_*.deb")))
    assert (show("UnitFileState"), show("ActiveState")) == ("disabled", "inactive")
    shutil.copy(CONFIG, OUT / "conf.packaged")


@pytest.fixture(autouse=True)
def service(package, request):
    """Restarted when an earlier test has changed or ended it, unless the test does that itself: each start takes seconds."""
    changed = DEFAULTS.exists() or CONFIG.read_text() != (OUT / "conf.packaged").read_text()
    if changed or DROP_INS.exists():
        shutil.copy(OUT / "conf.packaged", CONFIG)
        DEFAULTS.unlink(missing_ok=True)
        shutil.rmtree(DROP_INS, ignore_errors=True)
        run("systemctl", "daemon-reload")
        run("systemctl", "reset-failed", "blklat", fails=True)  # mostly it has not failed
    if not request.node.get_closest_marker("restarts"):
        run("systemctl", "restart" if changed else "start", "blklat")


@pytest.fixture(autouse=True)
def quiet():
    with quiet_kernel():
        yield
