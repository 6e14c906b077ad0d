/* SPDX-License-Identifier: GPL-2.0-only */
/* What kmod/slots.h takes from the kernel, for test_slots_order.c. */
#ifndef KERNEL_LOCAL64_H
#define KERNEL_LOCAL64_H

#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* As much of the kernel's and the module's structs as the code looks at. */
struct blk_mq_hw_ctx { u32 queue_num; };
struct request { int tag, internal_tag; struct blk_mq_hw_ctx *mq_hctx; };
struct blklat_target { u32 stride, distance, queues, first_slot[BLKLAT_STAGES]; };
struct blklat_session { struct blklat_slots *slots; };

#endif
