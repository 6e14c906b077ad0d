# SPDX-License-Identifier: GPL-2.0-only
import json

import pytest

from recordings import blklat


@pytest.fixture
def report():
    def run(*args):
        return json.loads(blklat("report", "--format", "json", *args))
    return run
