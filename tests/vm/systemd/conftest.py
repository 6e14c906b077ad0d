# SPDX-License-Identifier: GPL-2.0-only
"""The package is installed once; every test begins with the service running as packaged."""
import shutil

import pytest

from alarms import quiet_kernel
from manager import DEFAULTS, DROP_INS, OUT, run, show


@pytest.fixture(scope="session", autouse=True)
def package():
    # Afterwards udev reads nothing more of the disks.
    run("udevadm", "settle")
    run("dpkg", "-i", next(OUT.glob("blklat_*.deb")))
    assert (show("UnitFileState"), show("ActiveState")) == ("disabled", "inactive")
    shutil.copy(DEFAULTS, OUT / "default.packaged")


@pytest.fixture(autouse=True)
def service(package):
    """Restarted when an earlier test has changed or ended it."""
    changed = DEFAULTS.read_text() != (OUT / "default.packaged").read_text()
    if changed or DROP_INS.exists():
        shutil.copy(OUT / "default.packaged", DEFAULTS)
        shutil.rmtree(DROP_INS, ignore_errors=True)
        run("systemctl", "daemon-reload")
        run("systemctl", "reset-failed", "blklat", fails=True)  # mostly it has not failed
    run("systemctl", "restart" if changed else "start", "blklat")


@pytest.fixture(autouse=True)
def quiet():
    with quiet_kernel():
        yield
