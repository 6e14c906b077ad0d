# SPDX-License-Identifier: GPL-2.0-only
"""The package is installed once; every test begins with the service running, or at least configured, as packaged."""
import pathlib
import shutil

import pytest

from alarms import quiet_kernel
from manager import CONFIG, DEFAULTS, DROP_IN, OUT, run, show


def pytest_configure(config):
    config.addinivalue_line("markers", "restarts: begins by a restart of the service with its own configuration")
    config.addinivalue_line("markers", "drop_in(text): the unit has this drop-in; no other test's")


@pytest.fixture(scope="session", autouse=True)
def package():
    # Afterwards udev reads nothing more of the disks.
    run("udevadm", "settle")
    # It would read all manuals anew for those of the package, which takes as long as the rest.
    pathlib.Path("/var/lib/man-db/auto-update").unlink()
    run("dpkg", "-i", next(OUT.glob("blklat_*.deb")))
    assert (show("UnitFileState"), show("ActiveState")) == ("disabled", "inactive")
    shutil.copy(CONFIG, OUT / "conf.packaged")


def set_drop_in(text):
    if text:
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text(text)
    else:
        shutil.rmtree(DROP_IN.parent)
    run("systemctl", "daemon-reload")


@pytest.fixture(autouse=True)
def service(package, request):
    """Restarted when an earlier test has changed or ended it, unless the test does that itself: each start takes seconds."""
    found = DROP_IN.read_text() if DROP_IN.exists() else ""
    mark = request.node.get_closest_marker("drop_in")
    wanted = mark.args[0] if mark else ""
    changed = DEFAULTS.exists() or CONFIG.read_text() != (OUT / "conf.packaged").read_text()
    if found != wanted:
        set_drop_in(wanted)
    if changed:
        shutil.copy(OUT / "conf.packaged", CONFIG)
        DEFAULTS.unlink(missing_ok=True)
    if changed or found:
        run("systemctl", "reset-failed", "blklat", fails=True)  # mostly it has not failed
    if not request.node.get_closest_marker("restarts"):
        run("systemctl", "restart" if changed else "start", "blklat")


@pytest.fixture(autouse=True)
def quiet():
    with quiet_kernel():
        yield
