# SPDX-License-Identifier: GPL-2.0-only
"""Two hosts, scraped by two servers."""
import pytest

from hosts import HOSTS, make_ios, write_script
from pair import played_to_both

TICKS = 8


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    ios = make_ios(7)
    with played_to_both([write_script(folder / f"host{host}", ios, host, TICKS) for host in range(HOSTS)], TICKS) as found:
        for s in (found.native, found.classic):
            assert s.value('sum(blklat_io_bytes_total{stage="device"}) / 4096') == sum(map(len, ios.values()))
        found.ios = ios
        yield found
