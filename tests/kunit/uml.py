#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs the module's KUnit suites in a Linux built as a program (UML), by Linux' own kunit.py.

With KASAN, UBSAN and lockdep, then with real IO on that kernel. Without them the suites are run on stock kernels (stock.py).

All of kmod/ is compiled into the kernel. Prints each case; the last line counts them. The exit status is 0
only if no case failed, every suite ran to its end and the kernel's log has no complaint. The first run takes
minutes (it fetches and builds Linux), later ones seconds: the kernel is kept in the cache.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import ktap
import source
import suites

BUILD_LIMIT_S = 1800
RUN_LIMIT_S = 600
PR_SET_CHILD_SUBREAPER = 36
DRIVER = "drivers/blklat"
NAME = "uml-sanitized"
CONFIG = ["KUNIT", "BLOCK", "BLK_DEV", "BLK_DEV_NULL_BLK", "DEBUG_FS", "FTRACE", "BLK_DEV_IO_TRACE", "BLKLAT_KUNIT"]
# kunit.py adds these for UML. They pull in PCI, whose drivers need much of what is left out.
NOT_CONFIG = ["VIRTIO_UML", "UML_PCI_OVER_VIRTIO"]
SANITIZERS = ["DEBUG_KERNEL", "KASAN", "KASAN_VMALLOC", "UBSAN", "PROVE_LOCKING", "DEBUG_LIST", "DEBUG_OBJECTS",
              "DEBUG_OBJECTS_TIMERS", "DEBUG_OBJECTS_RCU_HEAD", "DEBUG_OBJECTS_WORK"]
# To run programs of this machine in it.
USERSPACE = ["HOSTFS", "DEVTMPFS", "TMPFS"]
LOAD = pathlib.Path(__file__).resolve().parent / "real_load.py"
KCONFIG = """\
config BLKLAT_KUNIT
	bool "blklat with its KUnit suites"
	depends on KUNIT=y && BLOCK && TRACEPOINTS
"""


def adopt_orphans():
    """UML leaves its parent's process group, so what kunit.py leaves behind becomes our child."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def children():
    return list(map(int, pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def end_children(group):
    """Lets make remove half-written files; then kills what does not end, orphans too."""
    deadline = time.monotonic() + 5
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
    while pids := children():
        for pid in pids:
            if time.monotonic() > deadline or os.getpgid(pid) != group:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)


def kunit(home, command, *options):
    """Runs kunit.py in the tree. Nothing is left running."""
    argv = [sys.executable, "-B", "tools/testing/kunit/kunit.py", command, "--arch=um", f"--kunitconfig={DRIVER}",
            f"--build_dir={home / NAME}", *options]
    process = subprocess.Popen(argv, cwd=home / "tree", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=BUILD_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise source.Failure(f"kunit.py {command} takes more than {BUILD_LIMIT_S} s") from None
    finally:
        end_children(process.pid)
    if process.returncode:
        print(output)
        raise source.Failure(f"kunit.py {command} failed")


def driver():
    """The suites as a driver of Linux: contents by path."""
    files = suites.sources()
    lines = ["ccflags-y := -I$(srctree)/$(src)/include -Werror", "UBSAN_SANITIZE := y",
             "obj-$(CONFIG_BLKLAT_KUNIT) := blklat.o"]
    lines += [f"blklat-y += {name}" for name in suites.objects(files)]
    files["Makefile"] = "\n".join(lines) + "\n"
    files["Kconfig"] = KCONFIG
    config = [f"CONFIG_{name}=y" for name in CONFIG] + [f"# CONFIG_{name} is not set" for name in NOT_CONFIG]
    files[".kunitconfig"] = "\n".join(config) + "\n"
    return files


def name_in(path, line):
    text = path.read_text()
    if line not in text:
        path.write_text(text + line)


def build(home):
    """
    Returns the path of the kernel. What it is made of decides its name in the cache: source, configuration, compiler and suites.
    Of other suites, only they are compiled.
    """
    files = driver()
    options = [f"--kconfig_add=CONFIG_{option}=y" for option in SANITIZERS + USERSPACE]
    # With stacks in vmalloc's area, an interrupt while that is being unmapped faults in its own handler, for ever: some 1 in 40 runs.
    options.append("--kconfig_add=CONFIG_VMAP_STACK=n")
    compiler = subprocess.run(["gcc", "--version"], check=True, stdout=subprocess.PIPE).stdout
    kernel = source.keyed(home, "linux", sorted(files.items()), options, compiler)
    if not kernel.exists():
        print(f"--- {NAME}: building", flush=True)
        tree = home / "tree"
        suites.write(tree / DRIVER, files)
        name_in(tree / "drivers/Makefile", "obj-y += blklat/\n")
        name_in(tree / "drivers/Kconfig", f'source "{DRIVER}/Kconfig"\n')
        kunit(home, "config", *options)
        kunit(home, "build", f"--jobs={os.cpu_count()}", *options)
        shutil.copy(home / NAME / "linux", home / "new")
        (home / "new").rename(kernel)
    return kernel


def run(kernel, *arguments):
    """Returns the kernel's log."""
    argv = [kernel, "mem=1G", "console=tty", "kasan_multi_shot", *arguments]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            process.wait(RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            print(f"{NAME} takes more than {RUN_LIMIT_S} s")
        finally:
            end_children(process.pid)
        log.seek(0)
        return log.read().decode(errors="replace")


def has_large_registers():
    """
    Whether the registers need more than the 2696 bytes that UML of 6.1 has room for (HOST_FP_SIZE), as with AMX. UML can then
    read but not write them back, so its first process dies.
    """
    return " amx_tile" in pathlib.Path("/proc/cpuinfo").read_text()


def real_load(kernel):
    """Boots the kernel into real_load.py, with this machine's files read-only; returns the count of its cases."""
    if has_large_registers():
        print(f"skipped  {LOAD.name}: this CPU's registers (AMX) do not fit into user-mode Linux 6.1, which runs no process here")
        return ktap.counted(skipped=1)
    log = run(kernel, "root=/dev/root", "rootfstype=hostfs", "ro", f"init={LOAD}", "kunit.enable=0", "null_blk.nr_devices=0")
    return ktap.judge(log, {LOAD.stem: LOAD.name})


def main():
    adopt_orphans()
    begin = time.monotonic()
    with source.lock():
        kernel = build(source.linux())
    built = time.monotonic()
    total = ktap.judge(run(kernel, "kunit.enable=1", "kunit_shutdown=halt"), suites.expected())
    print(f"--- {NAME}: {ktap.summary(total)}; built in {built - begin:.0f} s, ran in {time.monotonic() - built:.1f} s", flush=True)
    begin = time.monotonic()
    loaded = real_load(kernel)
    print(f"--- {NAME}: {ktap.summary(loaded)} under real load in {time.monotonic() - begin:.1f} s")
    return ktap.finish(ktap.add(total, loaded))


if __name__ == "__main__":
    source.exit_with(main)
