// SPDX-License-Identifier: GPL-2.0-only
/* blklat.ko: the capture engine where BPF is not available, and the BPF engine's witness. */
#include <linux/module.h>

#include "chardev.h"
#include "device.h"
#include "probe.h"

/*
 * Nothing is hooked until somebody opens /dev/blklat and asks for it. An open file holds a reference to
 * the module, so when the module is unloaded no probe runs and no session is left.
 */
static int __init blklat_init(void)
{
	blklat_probe_init();
	return blklat_chardev_init();
}

static void __exit blklat_exit(void)
{
	blklat_chardev_exit();
	blklat_device_exit();
}

module_init(blklat_init);
module_exit(blklat_exit);

MODULE_AUTHOR("The blklat authors");
MODULE_DESCRIPTION("Latency histograms of every IO of block devices, for blklat(8)");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
