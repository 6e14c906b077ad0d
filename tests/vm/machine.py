# SPDX-License-Identifier: GPL-2.0-only
"""
Boots a kernel in QEMU, runs one command there, and returns its output and status.

    result = Machine(KERNELS["6.12"], disks=["nvme"]).run(["uname", "-r"], timeout=60)
    result.status, result.output, result.log

The guest sees this machine's files under the same paths, read-only below a layer in memory, and
writes into one folder, $VM_OUT, which has the same path on both sides. It has no udev and no network.
With another root it sees the files of that one instead: a folder with a shell and proc, sys, dev. A guest of another
architecture always has one. With a manager (systemd), that is the first process and runs the command as a unit.
Emulated, not virtualized: KVM of nested machines does not start stock kernels.
"""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from alarms import ALARM
from cache import library_path, program
from packages import Failure

TIMED_OUT, DIED = 124, 99
DISK_SIZE = "64M"
FILES = ("output", "results", "status", "dmesg", "console", "tainted")
# About one boot in 50 ends in a failed assertion of QEMU 10 (iotlb_to_section()), a race in QEMU.
ATTEMPTS = 3
# As in real machines: two queues, a write cache that has to be flushed, discards.
DISKS = {"nvme": "nvme,drive=disk{n},serial=disk{n}", "virtio": "virtio-blk-pci,drive=disk{n},num-queues=2"}
DISK_OPTIONS = "cache=writeback,discard=unmap"
# Each of the two CPUs has a thread; QEMU 7.2 corrupted live-patched kernel text that way, 10 does not.
EMULATED = "tcg,thread=multi"
# One instruction is one nanosecond of the guest's clock: costs are counted, not timed.
COUNTED = ("tcg,thread=single", ("-icount", "shift=0,sleep=off"))
# An oops ends the guest. QEMU's nvme says that it may have several paths; as a multipath head the disk would have no
# requests, unlike most.
APPEND = "panic=-1 oops=panic quiet loglevel=5 log_buf_len=4M nvme_core.multipath=N"
# Bits of /proc/sys/kernel/tainted that a foreign, unsigned module sets; a good run has no others.
FOREIGN_MODULE = 1 << 12 | 1 << 13
# Does what the init script does around the command; the manager then powers off (systemd-run-generator).
UNIT = """\
out=$(dirname "$0")
cd "$out"
/bin/bash ./cmd >output 2>&1 </dev/null
status=$?
dmesg >dmesg
cat /proc/sys/kernel/tainted >tainted
echo $status >status
sync
"""
MANAGED = ('"MANAGER={manager}" "systemd.run=/bin/bash {out}/unit" systemd.run_success_action=poweroff-force '
           'systemd.run_failure_action=poweroff-force systemd.show_status=no')
PASSED_ON = re.compile(r"BLKLAT\w*|WITNESS|ALTERED|O|V|UPDATE")


class Result:
    """The result of a guest; when it did not come to its end, log is empty and status 124 or 99."""

    def __init__(self, status, folder, seconds):
        self.status = status
        self.seconds = seconds
        self.output, self.log, self.console = (read(folder / name) for name in ("output", "dmesg", "console"))
        self.tainted = int(read(folder / "tainted") or 0)

    @property
    def died(self):
        """Why it did not come to its end, or None."""
        return {TIMED_OUT: "timed out", DIED: "died"}.get(self.status) if not self.log else None

    def alarms(self):
        """Lines of the kernel's log that must not be there."""
        lines = [line for line in (self.log or self.console).splitlines() if ALARM.search(line)]
        if self.tainted & ~FOREIGN_MODULE:
            lines.append(f"/proc/sys/kernel/tainted is {self.tainted}")
        return lines

    def tail(self, count=40):
        """What the console showed from the first alarm on, else at its end."""
        lines = self.console.splitlines()
        first = next((n for n, line in enumerate(lines) if ALARM.search(line)), len(lines) - count)
        return "\n".join(lines[max(first - 2, 0):][:count])


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


class Machine:
    def __init__(self, kernel, cpus=2, memory=None, accel=EMULATED, disks=(), qemu_args=(), append="", root=None, manager=None):
        self.kernel = kernel
        self.arch = kernel.arch
        self.root, self.manager = root or self.arch.root, manager
        self.shares = () if root else self.arch.shares()
        self.cpus, self.memory, self.accel = cpus, memory or kernel.memory, accel
        self.disks, self.qemu_args, self.append = disks, qemu_args, append

    def run(self, command, timeout=300, env=None, show=None, out=None):
        """
        Runs a command, given as a list of words or as a line of shell. Its output goes to show, a
        function, as it comes. The folder out is kept; without one, a temporary folder is not.
        """
        with contextlib.ExitStack() as undo:
            # Disks are large; only what is in out is of interest afterwards.
            scratch = pathlib.Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="blklat-vm-")))
            folder = pathlib.Path(out).resolve() if out else scratch / "out"
            folder.mkdir(parents=True, exist_ok=True)
            for attempt in range(ATTEMPTS):
                for name in FILES:
                    (folder / name).unlink(missing_ok=True)
                (folder / "cmd").write_text(self._script(command, folder, env or {}))
                (folder / "unit").write_text(UNIT)
                began = time.monotonic()
                status = self._boot(scratch, folder, timeout, show or (lambda text: None))
                if status is not None:
                    return Result(status, folder, time.monotonic() - began)
                print(f"kernel {self.kernel.name}: QEMU aborted; started again", file=sys.stderr, flush=True)
            raise Failure(f"QEMU itself ended {ATTEMPTS} times; see above")

    def _script(self, command, folder, env):
        passed = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
        variables = passed | self.arch.environment() | {
            "HOME": "/root", "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "DM_DISABLE_UDEV": "1",
            "VM_KERNEL": self.kernel.name, "VM_OUT": folder,
        } | env
        lines = [f"export {k}={shlex.quote(str(v))}" for k, v in variables.items()]
        place = self.shares[0] if self.shares else os.getcwd() if self.root == self.arch.root else folder
        lines.append(f"cd {shlex.quote(str(place))}")
        lines.append(command[0] if len(command) == 1 else f"exec {shlex.join(map(str, command))}")
        return "\n".join(lines) + "\n"

    def _argv(self, scratch, folder):
        qemu, _ = program(self.arch.qemu, self.arch.emulator)
        share = self.arch.qemu / "usr/share"
        managed = MANAGED.format(manager=self.manager, out=folder) if self.manager else ""
        # Where instructions are the clock, nothing can delay its calibration.
        clock = "" if "-icount" in self.qemu_args else self.arch.clock()
        shares = ":".join(map(str, self.shares))
        argv = ["setpriv", "--pdeathsig", "KILL", qemu, "-L", share / "qemu", "-L", share / "seabios",
                "-accel", self.accel, *self.arch.machine, "-m", self.memory, "-smp", self.cpus,
                "-nodefaults", "-display", "none", "-vga", "none", "-net", "none", "-no-reboot", "-monitor", "none",
                "-serial", f"file:{folder}/console", "-kernel", self.kernel.vmlinuz, "-initrd", self.kernel.initrd(),
                "-append", f'{APPEND} {self.arch.append} {clock} "OUT={folder}" "SHARES={shares}" {managed} {self.append}']
        for tag, path, options in (("host", self.root, ",readonly=on"), ("modules", self.kernel.modules, ",readonly=on"),
                                   ("out", folder, ""),
                                   *((f"share{n}", path, ",readonly=on") for n, path in enumerate(self.shares))):
            path = str(path).replace(",", ",,")
            argv += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{options}",
                     "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        for n, disk in enumerate(self.disks):
            argv += self._disk(n, disk, scratch / f"disk{n}")
        return [str(a) for a in [*argv, *self.qemu_args]]

    @staticmethod
    def _disk(n, disk, path):
        """nvme, or nvme:OPTIONS of -drive, with size=SIZE among them."""
        kind, _, options = disk.partition(":")
        options = options.split(",") if options else []
        size = [o.removeprefix("size=") for o in options if o.startswith("size=")] or [DISK_SIZE]
        options = [o for o in options if not o.startswith("size=")] or [DISK_OPTIONS]
        subprocess.run(["truncate", "-s", size[0], path], check=True)
        return ["-drive", ",".join([f"if=none,id=disk{n},file={path},format=raw", *options]),
                "-device", DISKS[kind].format(n=n)]

    def _boot(self, scratch, folder, timeout, show):
        """Returns the status, None when QEMU ended instead of the guest."""
        env = os.environ | {"LD_LIBRARY_PATH": library_path(self.arch.qemu)}
        deadline = time.monotonic() + timeout
        with open(scratch / "qemu", "w") as said:
            process = subprocess.Popen(self._argv(scratch, folder), env=env, stdin=subprocess.DEVNULL, stdout=said,
                                       stderr=said, start_new_session=True)
        try:
            follow(process, folder / "output", deadline, show)
        finally:
            late = process.poll() is None
            if late:
                process.kill()
            process.wait()
        print(read(scratch / "qemu"), end="", file=sys.stderr)
        if process.returncode == -signal.SIGABRT:
            return None
        if process.returncode > 0:
            raise Failure(f"QEMU ended with {process.returncode}; see above")
        status = read(folder / "status").strip()
        return int(status) if status else TIMED_OUT if late else DIED


def follow(process, path, deadline, show):
    """Shows what is added to a file until the process has ended, or the deadline has passed."""
    place = 0
    over = False
    while not over:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
        over = process.poll() is not None or time.monotonic() > deadline
        if path.exists():
            with open(path, "rb") as f:
                f.seek(place)
                text = f.read()
            place += len(text)
            if text:
                show(text.decode(errors="replace"))
