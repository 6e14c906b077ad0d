#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only
"""Stock Debian kernels in QEMU: what runs there, passes or fails here."""
import argparse
import pathlib
import sys

import matrix
from kernels import CACHE, KERNELS, fetch
from machine import COUNTED, DISKS, EMULATED, Machine
from packages import Failure, exit_with

WIDTH = max(map(len, KERNELS))


def show(text):
    print(text, end="", flush=True)


def chosen(names):
    return [KERNELS[name] for name in names or KERNELS]


def cmd_fetch(args):
    emulator = fetch(chosen(args.kernels), args.update)
    print(f"{CACHE}: {emulator}")
    for kernel in chosen(args.kernels):
        print(f"  {kernel.name:{WIDTH}} {kernel.release}, {kernel.version}")
    return 0


def cmd_build_kmod(args):
    for kernel in chosen(args.kernels):
        fetch([kernel])
        print(f"{kernel.name:{WIDTH}} {matrix.build_kmod(kernel)}")
    return 0


def cmd_run(args):
    if not args.command:
        raise Failure("run: no command; it comes after --")
    kernel = KERNELS[args.kernel]
    fetch([kernel])
    accel, extra = COUNTED if args.icount else (args.accel, ())
    machine = Machine(kernel, 1 if args.icount else args.cpus, args.memory, accel, args.disk, [*extra, *args.qemu_arg],
                      args.append)
    result = machine.run(args.command, args.timeout, show=show, out=args.out)
    for line in result.alarms():
        print(f"kernel {kernel.name}: {line}", file=sys.stderr)
    if result.died:
        print(f"kernel {kernel.name} {result.died} after {result.seconds:.0f} s; its console:\n{result.tail()}",
              file=sys.stderr)
    return result.status


def cmd_test(args):
    kernels = chosen(args.kernels)
    fetch(kernels)
    return matrix.test(kernels, args.keyword, args.timeout, show, args.append, args.program, args.share, args.large)


def absolute(path):
    return pathlib.Path(path).absolute()


def parser():
    p = argparse.ArgumentParser(prog="vm.py", description=__doc__,
                                epilog=f"KERNEL: {', '.join(KERNELS)}; all if none is named. Cache: {CACHE}.")
    commands = p.add_subparsers(dest="action", required=True)

    def command(name, handler, text, several=True):
        c = commands.add_parser(name, help=text, description=text)
        c.set_defaults(handler=handler)
        c.add_argument("kernels" if several else "kernel", metavar="KERNEL", nargs="*" if several else None,
                       choices=None if several else KERNELS)
        return c

    c = command("fetch", cmd_fetch, "download and prepare what is missing")
    c.add_argument("--update", action="store_true", help="also what has become newer")

    command("build-kmod", cmd_build_kmod, "build the kernel module for each kernel; a warning is an error")

    c = command("run", cmd_run, "run a command in a guest; its status is ours, 124 is a time-out, 99 a guest that died",
                several=False)
    c.add_argument("--cpus", type=int, default=2)
    c.add_argument("--memory", help="default 1G, or what the kernel takes")
    c.add_argument("--accel", default=EMULATED, help=f"default {EMULATED}")
    c.add_argument("--icount", action="store_true", help="one CPU, whose clock counts its instructions")
    c.add_argument("--disk", action="append", default=[], metavar="TYPE[:OPTIONS]",
                   help=f"{' or '.join(DISKS)}; options of -drive and size=")
    c.add_argument("--qemu-arg", action="append", default=[], metavar="ARG")
    c.add_argument("--append", default="", help="more for the kernel's command line")
    c.add_argument("--timeout", type=float, default=300, metavar="S")
    c.add_argument("--out", help="keep the shared folder ($VM_OUT) here: output, dmesg, console")
    c.epilog = "-- COMMAND is at the end: one word is a line of shell, several are run as they are."

    c = command("test", cmd_test, "run the guest tests on each kernel")
    c.add_argument("-k", dest="keyword", default="", metavar="EXPR", help="only tests that match, as pytest's -k")
    c.add_argument("--append", default="", help="more for the kernels' command lines")
    c.add_argument("--program", type=absolute, metavar="PATH", help="instead of $BLKLAT or the one that was built")
    c.add_argument("--share", type=absolute, metavar="FOLDER", help="share the tests with other guests that are given this folder; empty at first")
    c.add_argument("--large", action="store_true", help="in guests with 2 CPUs that may get 384")
    c.add_argument("--timeout", type=float, default=3600, metavar="S", help="of each guest")
    return p


def parse(argv):
    p = parser()
    end = argv.index("--") if "--" in argv else len(argv)
    args = p.parse_args(argv[:end])
    args.command = argv[end + 1:]
    unknown = [name for name in getattr(args, "kernels", []) if name not in KERNELS]
    if unknown:
        p.error(f"no kernel {unknown[0]}; there are {', '.join(KERNELS)}")
    unknown = [d for d in getattr(args, "disk", []) if d.partition(":")[0] not in DISKS]
    if unknown:
        p.error(f"no disk {unknown[0]}; there are {', '.join(DISKS)}")
    if args.command and args.action != "run":
        p.error(f"{args.action} takes no command")
    return args


def main():
    args = parse(sys.argv[1:])
    return args.handler(args)


if __name__ == "__main__":
    exit_with(main)
