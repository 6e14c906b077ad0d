# SPDX-License-Identifier: GPL-2.0-only
"""A service that divides IOs by cgroup: each cgroup has the same part on devices that come later."""
import signal
import subprocess

from devices import Delta, run
from groups import groups, ours
from load import exact, fio
from service import Serve
from told import Slow, by_part, settled, wait_for


def read(g, path, device, n):
    g.run(path, "dd", f"if={device.path}", "of=/dev/null", "bs=4k", f"count={n}", "iflag=direct")


def parts(serve, device):
    return by_part(serve, device, by="cgroup")


@exact
def test_each_counts_what_it_did(loop):
    with groups() as g, Serve("--dev", loop.name, "--by", "cgroup", "--interval", "0.2") as s, s.stream() as stream:
        _, name, told = stream.event()
        assert name == "run" and [p["label"] for p in told["parts"]] == ["none", "rest"]
        wait_for(s, loop)
        delta = Delta(loop)
        assert not {name for name in s.metrics() if 'cgroup=""' in name}
        read(g, 'a "b" \\c', loop, 50)
        f = fio(loop, rw="randwrite", number_ios=300)
        a = settled(s, loop)
        assert a["completed"] == a["kernel_ios"] == delta()["ios"] == 350
        # With backslash and quote as the exposition writes them.
        assert parts(s, loop) == {("read", rf'{g.name}/a \"b\" \\c'): 50, ("write", ours()): f.ios("write")}
        # The page is told that there are more parts.
        while told is not None:
            _, name, data = stream.event()
            if name == "run" and len(data["parts"]) == 4:
                told = None
                assert {p["label"] for p in data["parts"]} == {"none", "rest", ours(), f'{g.name}/a "b" \\c'}


@exact
def test_devices_that_come_are_divided_alike(slots):
    """
    Three devices come one by one; each cgroup works on all of them, and one reads from the first all the time. Each of its reads has
    its own place, and is reported once as a slow IO. The last device goes and comes back: each part's totals continue.
    """
    slots.detach_all()
    args = "--by", "cgroup", "--max-parts", "6", "--slow", "1us", "--slow-max", "10000", "--interval", "0.2"
    with groups() as g, Serve("--dev", slots.pattern, *args) as s, s.stream() as stream:
        devices, slow = [slots.attach(0)], Slow(stream)
        wait_for(s, devices[0])
        with subprocess.Popen(["sh", "-c", f"i=0; while [ $i -lt 200 ]; do dd if={devices[0].path} of=/dev/null bs=4k count=1 skip=$i iflag=direct status=none; "
                                           "sleep 0.02; i=$((i + 1)); done"]) as reader:
            for i in range(3):
                if i:
                    devices.append(slots.attach(i))
                    wait_for(s, devices[-1])
                for n, device in enumerate(devices):
                    read(g, f"g{i % 3}", device, 10 + n)
            assert reader.wait() == 0
        read(g, "g3", devices[0], 3)
        s.process.send_signal(signal.SIGHUP)
        for i, device in enumerate(devices):
            settled(s, device)
            wanted = {}
            for turn in range(i, 3):
                key = "read", f"{g.name}/g{turn % 3}"
                wanted[key] = wanted.get(key, 0) + 10 + i
            if not i:
                wanted |= {("read", f"{g.name}/g3"): 3, ("read", ours()): 200}
            assert parts(s, device) == wanted, device.name
            slow.of(s, device, sum(wanted.values()))
        assert sorted(io["sector"] for io in slow.ios[devices[0].name] if io["cgroup"] == ours()) == [8 * i for i in range(200)]
        run("losetup", "-d", devices[2].path)
        s.until(lambda: f"{devices[2].name} went away" in s.read_stderr(), "word of it")
        slots.attach(2)
        wait_for(s, devices[2])
        read(g, "g2", devices[2], 7)
        slow.forget()
        slow.of(s, devices[2], 7)
        assert parts(s, devices[2]) == {("read", f"{g.name}/g2"): 19}


@exact
def test_those_that_end(loop):
    """Their series end and make room for others. No existing total falls, and nothing is counted twice or under "rest"."""
    with groups() as g, Serve("--dev", loop.name, "--by", "cgroup", "--max-parts", "3", "--interval", "0.2") as s:
        wait_for(s, loop)
        stays = g.make("stays")
        done = 0
        for n in range(5):
            read(g, "stays", loop, 5)
            made = g.run(f"g{n}", "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={10 + n}", "iflag=direct")
            done += 5 + 10 + n
            assert settled(s, loop)["completed"] == done
            assert parts(s, loop) == {("read", f"{g.name}/stays"): 5 * (n + 1), ("read", f"{g.name}/g{n}"): 10 + n}
            g.remove(made)
            s.until(lambda n=n: parts(s, loop) == {("read", f"{g.name}/stays"): 5 * (n + 1)}, f"the end of g{n}'s series")
        assert stays.exists()
        # A new cgroup of the same name has a new counter, from 0.
        read(g, "g3", loop, 2)
        settled(s, loop)
        assert parts(s, loop) == {("read", f"{g.name}/stays"): 25, ("read", f"{g.name}/g3"): 2}
