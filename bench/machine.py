# SPDX-License-Identifier: GPL-2.0-only
"""The machine under test: a scratch device, a load on it, and the kernel's own figures.

Everything made here belongs to this process and ends with it, by the kernel's own means: even
SIGKILL leaves no device, no file, no process and no switch behind.
"""
import contextlib
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

SHM = "/dev/shm"
MIB = 1 << 20
STATS_SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
TRACEFS = pathlib.Path("/sys/kernel/tracing")
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class BenchError(Exception):
    """The benchmark itself failed: names what failed, why, and the cure."""


def output_of(*command):
    """A command's output, trimmed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise BenchError(f"{command[0]} is missing: run 'make deps-bench'") from None
    except subprocess.CalledProcessError as e:
        raise BenchError(f"{' '.join(command)}: {e.stderr.strip() or e}") from None
    return (done.stdout or done.stderr).strip()


@contextlib.contextmanager
def uninterrupted():
    """No signal may end us between creating something and registering its clean-up."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def started(*command, **how):
    """Starts a process that dies with us, and that Ctrl-C at the terminal does not reach."""
    # A blocked signal would stay blocked in the child, so this must not run uninterrupted().
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL,
                            start_new_session=True, **how)


def end(process, sig=signal.SIGTERM):
    """Ends a process of ours, at first by a signal that it can handle."""
    if process.poll() is None:
        process.send_signal(sig)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def chosen(text):
    """The bracketed one of '[none] mq-deadline'; a plain value as it is."""
    inside = re.search(r"\[(.*?)\]", text)
    return inside[1] if inside else text.strip()


class BenchDevice:
    """The measured device: its node, its name, its path in sysfs."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(os.path.realpath(path))
        self.sysfs = pathlib.Path("/sys/block", self.name)
        self.dev = os.stat(path).st_rdev

    def ios(self):
        return ios_of(self.sysfs)


class LoopDevice(BenchDevice):
    """A loop device on a file in memory. The file has no name and the device clears itself: both
    last as long as we hold the device open."""

    def __init__(self, size):
        with contextlib.ExitStack() as stack:
            stack.enter_context(uninterrupted())
            try:
                file = stack.enter_context(tempfile.NamedTemporaryFile(dir=SHM, prefix="blklat-bench-"))
                # Written, not only allocated: a read of a hole would be cheaper.
                for _ in range(size // MIB):
                    file.write(os.urandom(4096) * (MIB // 4096))
                file.flush()
            except OSError as e:
                raise BenchError(f"no {size // MIB} MiB in {SHM}: {e.strerror}") from None
            path = output_of("losetup", "--find", "--show", "--direct-io=on", file.name)
            try:
                self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                output_of("losetup", "--detach", path)
        super().__init__(path)
        # The kernel keeps these settings for the loop device's next user.
        self.before = {}
        for name, value in (("iostats", "1"), ("scheduler", "none")):
            file = self.sysfs / "queue" / name
            self.before[file] = chosen(file.read_text())
            file.write_text(value)

    def close(self):
        for file, value in self.before.items():
            file.write_text(value)
        os.close(self.fd)

    def facts(self):
        return {"size_bytes": int((self.sysfs / "size").read_text()) * 512,
                "direct_io": (self.sysfs / "loop/dio").read_text().strip() == "1",
                "scheduler": chosen((self.sysfs / "queue/scheduler").read_text())}


class Lacking(Exception):
    """Why this machine has no such device."""


@contextlib.contextmanager
def zram_device(size):
    """A compressed disk in memory, filled; its driver takes bios as they are."""
    control = pathlib.Path("/sys/class/zram-control")
    with contextlib.suppress(BenchError):
        output_of("modprobe", "zram", "num_devices=0")
    if not (control / "hot_add").exists():
        raise Lacking("no zram")
    with contextlib.ExitStack() as stack:
        with uninterrupted():
            number = (control / "hot_add").read_text().strip()
            stack.callback((control / "hot_remove").write_text, number)
        pathlib.Path(f"/sys/block/zram{number}/disksize").write_text(str(size))
        with open(f"/dev/zram{number}", "wb") as f:
            for _ in range(size // MIB):
                f.write(os.urandom(4096) * (MIB // 4096))
        yield BenchDevice(f"/dev/zram{number}")


@contextlib.contextmanager
def dm_device(member):
    """A whole device under device mapper's linear target."""
    name = f"blklat-bench-{os.getpid()}"
    sectors = int((member.sysfs / "size").read_text())
    try:
        with uninterrupted():
            output_of("dmsetup", "create", name, "--noudevsync", "--table", f"0 {sectors} linear {member.path} 0")
    except BenchError as e:
        raise Lacking(f"no device mapper ({str(e).splitlines()[-1]})") from None
    try:
        output_of("dmsetup", "mknodes", name)
        yield BenchDevice(f"/dev/mapper/{name}")
    finally:
        output_of("dmsetup", "remove", "--retry", "--noudevsync", name)


class ManyLoops:
    """Many loop devices on one small file; the first can be put under load. They end as LoopDevice does."""

    def __init__(self, n):
        self.fds = []
        self.names = []
        with tempfile.NamedTemporaryFile(dir=SHM, prefix="blklat-bench-") as file:
            file.truncate(MIB)
            for _ in range(n):
                with uninterrupted():
                    self._add(file.name)
        self.name = self.names[0]
        self.path = f"/dev/{self.name}"

    def _add(self, file):
        path = output_of("losetup", "--find", "--show", file)
        try:
            self.fds.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        finally:
            output_of("losetup", "--detach", path)
        self.names.append(os.path.basename(path))

    def close(self):
        for fd in self.fds:
            os.close(fd)

    def ios(self):
        return ios_of(pathlib.Path("/sys/block", self.name))


def ios_of(sysfs):
    """IOs completed: reads + writes + discards + flushes (Documentation/block/stat.rst)."""
    fields = (sysfs / "stat").read_text().split()
    return sum(int(fields[i]) for i in (0, 4, 11, 15) if i < len(fields))


def ios_of_others(device):
    """IOs of all other disks: everything on the machine runs through a tool's programs, too."""
    total = 0
    for disk in pathlib.Path("/sys/block").iterdir():
        with contextlib.suppress(OSError):
            total += ios_of(disk) if disk.name != device.name else 0
    return total


def cpu_ticks():
    """Ticks of all CPUs: the total, and those that the host gave to others (steal)."""
    fields = [int(f) for f in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[7]


@contextlib.contextmanager
def load_on(device, *options, settle=0.5):
    """fio, 4 KiB random reads at a queue depth of 32, as fast as one job can, unless its options say otherwise.

    fio reads no clock and keeps no map of blocks: the less the load costs, the more a tool's own cost
    shows. Nothing is pinned. The loop driver's workers are not, either, and on two CPUs pinning fio to
    one would make the device's completions the bottleneck and hide what a tool costs.
    """
    fio = started("fio", "--name=bench", f"--filename={device.path}", "--readonly", "--rw=randread", "--bs=4k",
                  "--ioengine=io_uring", "--iodepth=32", "--direct=1", "--numjobs=1", "--thread", "--time_based",
                  "--runtime=1d", "--norandommap", "--gtod_reduce=1", "--output-format=terse", *options,
                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        before, give_up = device.ios(), time.monotonic() + 10
        while device.ios() - before < 1000:
            if fio.poll() is not None or time.monotonic() > give_up:
                end(fio)
                raise BenchError(f"fio does no IO on {device.path}: {fio.stderr.read().strip() or 'no reason given'}")
            time.sleep(0.02)
        time.sleep(settle)
        yield fio
        if fio.poll() is not None:
            raise BenchError(f"fio ended early: {fio.stderr.read().strip() or 'no reason given'}")
    finally:
        end(fio)


@contextlib.contextmanager
def bpf_statistics():
    """Turns the kernel's BPF statistics on while a descriptor is held; the kernel turns them off again."""
    try:
        fd = ctypes.CDLL("libbpf.so.1", use_errno=True).bpf_enable_stats(0)
    except OSError as e:
        raise BenchError(f"libbpf.so.1 is missing: {e}; run 'make deps-bench'") from None
    if fd < 0:
        raise BenchError(f"no BPF statistics (kernel 5.8 or later, root): {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def no_bpf_statistics():
    """Turns the statistics off, even if an admin has them on: they cost a program two more clock reads."""
    before = STATS_SWITCH.read_text()
    try:
        if before.strip() != "0":
            STATS_SWITCH.write_text("0")
        yield
    finally:
        if before.strip() != "0":
            STATS_SWITCH.write_text(before)


@contextlib.contextmanager
def tracefs():
    """bpftrace looks tracepoints up in tracefs: mounts it unless it is mounted."""
    with uninterrupted():
        ours = TRACEFS.is_dir() and not os.path.ismount(TRACEFS)
        if ours:
            output_of("mount", "-t", "tracefs", "tracefs", str(TRACEFS))
    try:
        yield
    finally:
        if ours:
            output_of("umount", str(TRACEFS))
