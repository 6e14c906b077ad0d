# SPDX-License-Identifier: GPL-2.0-only
"""
For every kernel: builds the module, and runs the guest tests.

Tests are the pytest files in guest/ (see guest/guest.py for how to write one). A guest runs all of them
in one boot. A warning in the kernel's log is a failure of its own, and so is a guest that died.
"""
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from cache import keyed
from machine import Machine
from packages import Failure

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = (ROOT / os.environ.get("O", "build")).resolve()
# Each guest has these besides the devices that tests make with modules.
DISKS = ("nvme", "virtio")
# Factor for deadlines: an emulated machine is about six times slower than this one, which may be busy.
SLOWER = "12"
# A guest that may get 384 CPUs, and an nvme with a queue for each of 64.
LARGE = ("-smp", "2,maxcpus=384", "-global", "nvme.max_ioqpairs=64", "-global", "nvme.msix_qsize=65")
# A test that takes longer has its threads' stacks in the output, in case it never ends.
STUCK_S = 400
PYTEST = ("/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE", "--tb=short",
          "-o", f"faulthandler_timeout={STUCK_S}", "--durations=20", "--durations-min=10", "--rootdir", str(HERE / "guest"))


def module_path(kernel):
    return BUILD / "kmod" / kernel.release / "blklat.ko"


def make_kmod(kernel):
    """Compiles it. The compiler's warnings, and modpost's, are errors."""
    argv = ["make", "--no-print-directory", "-C", ROOT, "kmod", f"KDIR={kernel.headers}", "KCFLAGS=-Werror", *kernel.arch.make]
    # Not as arguments, since make passes those on: O means something else to the kernel's Makefile.
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"O": str(BUILD)}
    done = subprocess.run([str(a) for a in argv], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    bad = [line for line in done.stdout.splitlines() if re.search(r"\bwarning:", line, re.I)]
    path = module_path(kernel)
    if done.returncode or bad or not path.exists():
        print(done.stdout, end="")
        raise Failure(f"kernel {kernel.name}: the module does not build" if done.returncode else
                      f"kernel {kernel.name}: {bad[0]}" if bad else f"kernel {kernel.name}: make kmod made no {path}")


def build_kmod(kernel):
    """
    Returns the path of blklat.ko for a kernel. The kernel's makefiles name folders, so ccache is of no use to another checkout:
    what was compiled is kept beside the kernel.
    """
    if not (ROOT / "Kbuild").exists():
        raise Failure("there is no Kbuild, so no module to build")
    sources = sorted(p for pattern in ("Kbuild", "kmod/*.[ch]", "include/blklat/*") for p in ROOT.glob(pattern))
    path = module_path(kernel)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(BUILD / f"kmod-{kernel.name}.lock", "w") as lock:  # for others that test on this kernel
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = keyed(kernel.folder, "blklat.ko", [(p.name, p.read_bytes()) for p in sources], kernel.release, kernel.version)
        if kept.exists():
            if not path.exists() or path.read_bytes() != kept.read_bytes():
                shutil.copy(kept, path)
            return path
        make_kmod(kernel)
        with tempfile.TemporaryDirectory(dir=kernel.folder) as scratch:
            pathlib.Path(shutil.copy(path, scratch)).rename(kept)
    return path


class Count(dict):
    def __init__(self, outcomes=()):
        super().__init__(passed=0, failed=0, skipped=0)
        for outcome in outcomes:
            self[outcome] += 1

    def add(self, other):
        for key, value in other.items():
            self[key] += value

    def __str__(self):
        return ", ".join(f"{n} {what}" for what, n in self.items())


def files_of(keyword):
    """What pytest has to look into for the tests that match: one file, if the expression demands its name, else all."""
    name = re.match(r"(test_\w+)(?: and |$)", keyword)
    path = HERE / "guest" / f"{name[1]}.py" if name else HERE / "guest"
    return [str(path if path.exists() else HERE / "guest")]


def folder_of(kernel, keyword, share):
    """Where a guest with these tests leaves its results: others may run at the same time."""
    if share:
        return share / kernel.name / f"guest-{os.getpid()}"
    return BUILD / "vm" / "-".join([kernel.name, *re.findall(r"\w+", keyword)])[:100]


def taken(folder):
    """QEMU's options for the folder in which guests that share the tests say what they have taken."""
    folder.mkdir(parents=True, exist_ok=True)
    return ("-fsdev", f"local,id=taken,path={folder},security_model=none", "-device", "virtio-9p-pci,fsdev=taken,mount_tag=taken")


def compiled(kernel, files):
    """
    A folder with the modules of these tests, compiled here as pytest does it, and its assertions with them: that would take a guest
    longer than a test. One that has changed since is compiled in the guest. Of another architecture's the sources are the same.
    """
    folder = BUILD / "vm/compiled"
    with tempfile.TemporaryDirectory() as out:
        env = os.environ | {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "VM_KERNEL": kernel.name, "VM_OUT": out}
        subprocess.run([argument for argument in PYTEST if argument != "-B"] + ["--collect-only", *files], env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def read_results(folder):
    """Outcome by test, and the test that was running when the guest ended, as guest/conftest.py wrote them."""
    outcomes, running = {}, None
    path = folder / "results"
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        running = None if "outcome" in entry else entry["test"]
        if "outcome" in entry:
            outcomes[entry["test"]] = entry["outcome"]
    return outcomes, running


def complaints(result, count, running, share):
    """What is wrong with a run besides failed tests."""
    if result.died:
        yield f"the guest {result.died} after {result.seconds:.0f} s in {running or 'no test'}; its console:"
        yield result.tail()
    elif result.status == 5 or not (share or sum(count.values())):
        yield "no test ran"
    elif result.status and not count["failed"]:
        yield f"pytest ended with {result.status}"
    for line in result.alarms():
        yield f"kernel log: {line}"


def test_on(kernel, keyword, timeout, show, append, program, share, large):
    """Runs the guest tests of a program on one kernel, @append on its command line; returns their count."""
    folder = folder_of(kernel, keyword, share)
    files = files_of(keyword)
    argv = [*PYTEST, *(["-k", keyword] if keyword else []), *files]
    env = {"BLKLAT": program or kernel.arch.blklat, "BLKLAT_SLOW": SLOWER, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
           "PYTHONPYCACHEPREFIX": compiled(kernel, files)}
    if (ROOT / "Kbuild").exists():
        env["BLKLAT_KO"] = build_kmod(kernel)
    if share:
        env["VM_SHARED"] = "1"
    qemu_args = taken(share / kernel.name / "taken") if share else ()
    machine = {"memory": "4G", "qemu_args": LARGE} if large else {"qemu_args": qemu_args}
    result = Machine(kernel, disks=DISKS, append=append, **machine).run(argv, timeout, env, show, out=folder)
    outcomes, running = read_results(folder)
    count = Count(outcomes.values())
    bad = list(complaints(result, count, running, share))
    for line in bad:
        show(f"{line}\n")
    if bad:
        count["failed"] += 1
    show(f"--- kernel {kernel.name}: {count} in {result.seconds:.0f} s\n")
    return count


def test(kernels, keyword, timeout, show, append="", program=None, share=None, large=False):
    """
    On each kernel, one after the other; the last line counts them all. Returns the exit status. With @share, a folder that was
    empty, other guests that have it run tests of the same kernels, and each test is run by one of them. @large: in a guest that
    may get 384 CPUs.
    """
    for path in dict.fromkeys(program or kernel.arch.blklat for kernel in kernels):
        if not path.exists():
            raise Failure(f"{path} is not built")
    counts = {}
    for kernel in kernels:
        show(f"--- kernel {kernel.name}: {kernel.release}{append and f', {append}'}\n")
        try:
            counts[kernel.name] = test_on(kernel, keyword, timeout, show, append, program, share, large)
        except Failure as e:
            show(f"{e}\n")
            counts[kernel.name] = Count(["failed"])
    total = Count()
    # When other guests have taken all tests of a kernel, none is left.
    empty = [] if share else [name for name, count in counts.items() if not count["passed"]]
    for count in counts.values():
        total.add(count)
    for name in empty:
        show(f"no test passed on kernel {name}\n")
    show(f"{total}\n")
    return 1 if total["failed"] or empty else 0


def verdict(kernel, result, show):
    """For a guest whose command was pytest alone: shows other failures and, in the last line, counts. Returns the exit status."""
    last = (result.output.strip().splitlines() or [""])[-1]
    count = Count()
    for number, what in re.findall(r"(\d+) (passed|failed|skipped|error)", last):
        count["failed" if what == "error" else what] += int(number)
    # A guest that died, and complaints of its kernel before and after the tests.
    for complaint in filter(None, [result.died, *result.alarms()]):
        show(f"kernel {kernel.name}: {complaint}\n")
        count["failed"] += 1
    if result.died:
        show(f"{result.tail()}\n")
    show(f"{count}\n")
    return 1 if result.status or count["failed"] or not count["passed"] else 0
