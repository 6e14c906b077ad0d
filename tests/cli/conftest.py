# SPDX-License-Identifier: GPL-2.0-only
import pytest

from attacks import record
from script import write_recording


@pytest.fixture
def long_replay(tmp_path):
    """A replay whose output, in any format, is more than twice what a pipe or a terminal holds."""
    return write_recording("blklat-replay 1\ndevice loop0 size=1048576\nwatch loop0 device\n" +
                           "io read 60us 4096 x9\ntick 1\n" * 1000, tmp_path / "long.blklat")


@pytest.fixture
def folder(tmp_path):
    """A folder with nothing else in it."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def victim(tmp_path):
    """A file elsewhere, which an attacker can't change himself."""
    made = tmp_path / "victim"
    made.write_text("precious")
    return made


@pytest.fixture
def file(folder):
    """A recording, alone in its folder."""
    return record(folder / "run.blklat")
