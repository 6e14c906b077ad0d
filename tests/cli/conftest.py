# SPDX-License-Identifier: GPL-2.0-only
import pytest


@pytest.fixture
def long_replay(tmp_path):
    """In any format more than twice of what a pipe or a terminal holds."""
    file = tmp_path / "long.txt"
    file.write_text("blklat-replay 1\ndevice loop0 size=1048576\nwatch loop0 device\n" +
                    "io read 60us 4096 x9\ntick 1\n" * 1000)
    return file
