#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What docs/top.gif shows: eight disks of 60 MB/s (null_blk) with a steady load each, and on one of them a backup that begins
# after 14 s; after 24 s the key that asks whose IOs these are. As root, in a virtual machine.
set -euo pipefail

blklat=$1 out=$2
modprobe configfs; mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
modprobe null_blk nr_devices=0
disks=()
for i in $(seq 8); do
	disk=/sys/kernel/config/nullb/nullb$i
	mkdir "$disk"
	echo 2 > "$disk/irqmode"
	echo $((200000 + 20000 * i)) > "$disk/completion_nsec"
	echo 60 > "$disk/mbps"
	echo 1 > "$disk/power"
	disks+=("/dev/nullb$i")
	fio --name=load --filename="/dev/nullb$i" --direct=1 --ioengine=psync --bs=4k --rw=randrw --rwmixread=80 \
		--rate_iops=$((8 * i)),$((2 * i)) --rate_process=poisson --time_based --runtime=300 --output=/dev/null &
done
# Seconds of its own are those since it shows something.
watched() {
	until [ -s "$out.out" ] && [ "$(stat --format %s "$out.out")" -gt 2000 ]; do sleep 0.2; done
	sleep "$1"
}
(watched 14; exec timeout 20 dd if=/dev/nullb3 of=/dev/null bs=256k iflag=direct status=none) &
(watched 24; printf c; sleep 8; printf q) |
	script --quiet --flush --log-out "$out.out" --log-timing "$out.times" --command \
		"stty cols 96 rows 27; TERM=screen-256color $blklat top --stage total --by process ${disks[*]#/dev/}" > /dev/null
kill $(jobs -p) 2>/dev/null || true
