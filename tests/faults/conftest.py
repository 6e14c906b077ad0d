# SPDX-License-Identifier: GPL-2.0-only
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import faults  # noqa: E402


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    return faults.Bench(tmp_path_factory.mktemp("faults"))
