// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <bpf/btf.h>

#include "engine/bpf_probe.h"

static int add_struct(struct btf *btf, const char *name, const char *member, int type)
{
	int id = btf__add_struct(btf, name, 64);

	assert_true(id > 0);
	assert_int_equal(btf__add_field(btf, member, type, 0, 0), 0);
	return id;
}

/* Types as in Linux: a spinlock_t has its contents in @member; @lock is the type of the ring buffer's lock. */
static struct btf *kernel(const char *member, const char *lock)
{
	struct btf *btf = btf__new_empty();
	int number, id;

	assert_non_null(btf);
	number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	id = btf__add_typedef(btf, "raw_spinlock_t", add_struct(btf, "raw_spinlock", "raw_lock", number));
	if (member)
		id = btf__add_typedef(btf, "spinlock_t", add_struct(btf, "spinlock", member, number));
	id = lock ? btf__find_by_name_kind(btf, lock, BTF_KIND_TYPEDEF) : number;
	add_struct(btf, "bpf_ringbuf", lock ? "spinlock" : "mask", id);
	return btf;
}

TEST(test_ring)
{
	static const struct { const char *kernel, *member, *lock; bool sleeps; } rows[] = {
		{ "6.1.114-rt", "lock", "spinlock_t", true }, { "6.1.115-rt", "lock", "raw_spinlock_t", false },
		/* A union without a name. */
		{ "6.1.114", "", "spinlock_t", false }, { "6.1.115", "", "raw_spinlock_t", false },
		{ "types without the lock", "lock", NULL, false },
		{ "types without spinlock_t", NULL, "raw_spinlock_t", false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct btf *btf = kernel(rows[i].member, rows[i].lock);

		print_message("%s\n", rows[i].kernel);
		assert_int_equal(bpf_ring_sleeps(btf), rows[i].sleeps);
		btf__free(btf);
	}
}

TEST(test_no_ring)
{
	struct btf *btf = btf__new_empty();

	assert_non_null(btf);
	assert_false(bpf_ring_sleeps(btf));
	btf__free(btf);
}

TEST(test_preemptible)
{
	static const char *const names[] = { "init_srcu_struct", "init_srcu_struct_fast", "__init_srcu_struct_fast" };

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		struct btf *btf = btf__new_empty();

		assert_true(btf__add_func(btf, names[i], BTF_FUNC_GLOBAL, btf__add_func_proto(btf, 0)) > 0);
		assert_int_equal(bpf_preemptible(btf), i > 0);
		btf__free(btf);
	}
}
