#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make demo: a scratch loop device on a tmpfs file, fio on it, and blklat beside it for 10 s. Nothing
# of it stays, whatever ends it.
set -euo pipefail

blklat=$1
seconds=${2:-10}
dir= loop= fio=

cleanup() {
	trap '' INT TERM
	[ -z "$fio" ] || { kill "$fio" 2>/dev/null && wait "$fio" 2>/dev/null; } || true
	[ -z "$loop" ] || losetup --detach "$loop" || true
	[ -z "$dir" ] || rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

die() {
	echo "make demo: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die "needs root, for the loop device and for BPF"
dir=$(mktemp -d /dev/shm/blklat-demo.XXXXXX) || die "no room in /dev/shm for the scratch file"
truncate --size 256M "$dir/disk"
loop=$(losetup --find --show --direct-io=on "$dir/disk") || die "no loop device to be had (modprobe loop?)"

fio --name=demo --filename="$loop" --direct=1 --ioengine=io_uring --iodepth=16 --rw=randrw --rwmixread=70 \
	--bs=4k --time_based --runtime=$((seconds + 5)) --output="$dir/fio" &
fio=$!
echo "fio: 4 KiB random reads and writes, 70 to 30, 16 at a time, on $loop"
echo "blklat --dev ${loop#/dev/} --interval 1"
echo
"$blklat" --dev "$loop" --interval 1 --duration "$seconds"
