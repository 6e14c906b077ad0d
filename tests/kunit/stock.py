#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The module's KUnit suites on stock kernels, which have no KUnit: those of tests/vm/vm.py, in QEMU.

usage: stock.py [KERNEL...]

blklat_kunit.ko is all of kmod/, its suites and KUnit's core, that of Debian's linux-source-6.1 for every kernel.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

import ktap
import source
import suites
# source has added tests/vm to the path.
import kernels
import machine

HERE = pathlib.Path(__file__).resolve().parent
BUILD = (suites.ROOT / os.environ.get("O", "build")).resolve()
MODULE = "blklat_kunit"
BEGIN = "blklat_kunit: begin"
BUILD_LIMIT_S = 1800
LOAD_LIMIT_S = 1200
CORE = ["assert.c", "resource.c", "string-stream.c", "test.c", "try-catch.c"]
CORE_HEADERS = ["debugfs.h", "string-stream.h", "try-catch-impl.h"]
# Parts of the core that need a kernel with KUnit, or taint one. A pattern that matches nothing is an error.
CHANGES = {
    "kunit/test.c": [
        (r"\tcurrent->kunit_test = (test|NULL);\n", ""),
        (r"#ifdef CONFIG_MODULES\nstatic void kunit_module_init.*?#endif\n", ""),
        (r"static int __init kunit_init.*", ""),
        (r"\tadd_taint\(TAINT_TEST, LOCKDEP_STILL_OK\);\n", ""),
    ],
    "include/kunit/test.h": [
        (r"#define kunit_test_suites\(__suites\.\.\.\).*?__suites\)\n",
         "#define kunit_test_suites(suites...) struct kunit_suite *const SUITE_LIST[] = { suites, NULL }\n"),
    ],
}
# Headers that Linux 5.10 lacks, and a function's name of 5.17; newer kernels find their own before these.
FALLBACKS = {
    "fallback/linux/container_of.h": "#include <linux/kernel.h>\n"
                                     "#define kthread_complete_and_exit complete_and_exit\n",
    "fallback/linux/panic.h": "#include <linux/kernel.h>\n",
    "fallback/linux/stdarg.h": "#include <stdarg.h>\n",
}
KBUILD = """\
LINUXINCLUDE := -I$(src)/include $(LINUXINCLUDE)
ccflags-y := -Werror -idirafter $(src)/fallback -D__DISABLE_EXPORTS -DCONFIG_KUNIT_DEFAULT_ENABLED
obj-m := {module}.o
{module}-y := {objects}
"""


def core(tree):
    """KUnit itself, by path, changed for a kernel without KUnit."""
    files = {f"kunit/{name}": (tree / "lib/kunit" / name).read_text() for name in CORE + CORE_HEADERS}
    files |= {f"include/kunit/{path.name}": path.read_text() for path in (tree / "include/kunit").glob("*.h")}
    for name, changes in CHANGES.items():
        for pattern, replacement in changes:
            files[name], number = re.subn(pattern, lambda _, r=replacement: r, files[name], flags=re.S)
            if not number:
                raise source.Failure(f"{name} of Linux has no {pattern!r}")
    return files


def identifier(name):
    return re.sub(r"\W", "_", name.removesuffix(".c"))


def gather(tree):
    """All files of the module, by path."""
    ours = suites.sources()
    files = ours | core(tree) | FALLBACKS | {"module.c": (HERE / "module.c").read_text()}
    lists = [name for name in sorted(ours) if name.endswith("_kunit.c")]
    lines = [f"CFLAGS_{name[:-2]}.o := -DSUITE_LIST={identifier(name)}_suites" for name in lists]
    declared = [f"extern struct kunit_suite *const {identifier(name)}_suites[];" for name in lists]
    # A module has only one init function, so that of blklat.ko gets another name and is called.
    for name in [name for name, text in ours.items() if re.search(r"^module_init\(", text, re.M)]:
        lines.append(f"CFLAGS_{name[:-2]}.o := -Dinit_module=blklat_kunit_init -Dcleanup_module=blklat_kunit_exit")
        declared += ["int blklat_kunit_init(void);", "void blklat_kunit_exit(void);",
                     "#define BLKLAT_INIT blklat_kunit_init", "#define BLKLAT_EXIT blklat_kunit_exit"]
    declared.append(f"#define SUITE_LISTS {', '.join(identifier(name) + '_suites' for name in lists)}")
    files["suite_list.h"] = "\n".join(declared) + "\n"
    files["Kbuild"] = KBUILD.format(module=MODULE, objects=" ".join(suites.objects(files))) + "\n".join(lines) + "\n"
    return files


def build(kdir, *variables):
    """Returns the path of the module. The kernel's Makefile gets the variables."""
    header = pathlib.Path(kdir) / "include/generated/utsrelease.h"
    if not header.exists():
        raise source.Failure(f"{kdir} has no kernel headers prepared to build modules")
    release = re.search(r'UTS_RELEASE "(.*)"', header.read_text())[1]
    folder = BUILD / "kunit" / release
    with source.lock():
        suites.write(folder, gather(source.linux() / "tree"))
    # The variables of a make that runs this are not for the kernel's make.
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k not in ("O", "V")}
    done = subprocess.run(["make", "-C", kdir, f"M={folder}", "-j2", *variables, "modules"], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_LIMIT_S)
    module = folder / f"{MODULE}.ko"
    if done.returncode or "warning:" in done.stdout.lower() or not module.exists():
        print(done.stdout)
        raise source.Failure(f"{MODULE}.ko does not build without a warning for {release}")
    return module


def run_on(kernel):
    """Builds for a kernel of tests/vm and loads it there, which runs the suites; returns the count."""
    print(f"--- kernel {kernel.name}: {kernel.release}", flush=True)
    begin = time.monotonic()
    module = build(kernel.headers, *kernel.arch.make)
    built = time.monotonic()
    # The console shows everything, so that it is known in which case a guest died.
    result = machine.Machine(kernel, append="loglevel=7").run([f"echo {BEGIN} >/dev/kmsg; insmod {module} && rmmod {MODULE}"], LOAD_LIMIT_S)
    log = (result.log or result.console).rpartition(BEGIN)[2]
    count = ktap.judge(log, suites.expected())
    wrong = [f"kernel log: {line}" for line in result.alarms() if line.strip() not in ktap.reports(log)]
    if result.status:
        wrong.append(f"the guest {result.died or f'ended with {result.status}: {result.output}'}")
    for line in wrong:
        print(f"failed  {line}")
        count["failed"] += 1
    print(f"--- kernel {kernel.name}: {ktap.summary(count)}; built in {built - begin:.0f} s, "
          f"booted and ran in {result.seconds:.0f} s", flush=True)
    return count


def main():
    names = sys.argv[1:]
    unknown = set(names) - set(kernels.KERNELS)
    if unknown:
        raise source.Failure(f"no kernel {unknown.pop()}; there are {', '.join(kernels.KERNELS)}")
    chosen = [kernels.KERNELS[name] for name in names or kernels.KERNELS]
    kernels.fetch(chosen)
    total = ktap.counted()
    for kernel in chosen:
        total = ktap.add(total, run_on(kernel))
    return ktap.finish(total)


if __name__ == "__main__":
    source.exit_with(main)
