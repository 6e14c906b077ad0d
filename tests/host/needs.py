# SPDX-License-Identifier: GPL-2.0-only
"""What a test needs, stated: without it the test is skipped and says why."""
import os

import pytest


def need(condition, reason):
    if not condition:
        pytest.skip(reason)


def need_zram():
    need(os.path.exists("/sys/class/zram-control/hot_add"), "no zram")
