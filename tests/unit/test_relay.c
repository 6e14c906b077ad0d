// SPDX-License-Identifier: GPL-2.0-only
/* What the capturing process sends to the serving one, all the way; and what happens when nobody reads it. */
#include "any_frames.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/relay.h"

/* --- the whole way ---------------------------------------------------------------------------- */

/* Adds up what it gets, as totals do. */
struct told {
	u32 begun, intervals;
	u64 reads, drain_ns, mono_ns, bytes, ios, slow, slow_told;
	u64 started, halts, skipped;
	bool counts;			/* a recording's came with the last interval */
	double length_s;
	char stopped[64], last_device[DEVICE_NAME_MAX];
};

static void add(struct told *t, const struct frames *fs)
{
	t->intervals++;
	t->mono_ns = fs->mono_ns;
	t->reads += fs->reads ?: 1;
	t->drain_ns += fs->drain_ns;
	t->counts = fs->now;
	t->skipped = fs->now ? fs->now->skipped : 0;
	for (u32 i = 0; i < fs->n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			t->bytes += fs->f[i].ops[op].counted.bytes;
			t->ios += hist_count(&fs->f[i].ops[op].hist);
		}
		if (fs->now)
			t->started = fs->f[i].counts->started;
		if (fs->now)
			t->halts += fs->f[i].counts->n_halts;
		t->slow += fs->slow->of[i].found;
		t->slow_told += fs->slow->of[i].n;
		strcpy(t->last_device, fs->f[i].watch->device->name);
	}
	t->length_s += fs->n ? fs->f[0].interval_s : 0;
}

/* Both ends in one process. */
static struct {
	struct relay relay;
	struct channel_reader reader;
	struct relayed relayed;
	struct told told;
	u64 ios, bytes, slow;		/* that were sent */
	struct snapshot now;
	struct watch_counts counts[WATCHES];
	u32 runs;			/* messages of type RELAY_RUN */
} l;

static int take(void *unused, u32 kind, struct wire_in *bytes)
{
	int err;

	(void)unused;
	l.runs += kind == RELAY_RUN;
	if (kind == RELAY_STOP)
		snprintf(l.told.stopped, sizeof(l.told.stopped), "%s", wire_get_text(bytes));
	err = relayed_take(&l.relayed, kind, bytes);
	l.told.begun += err > 0;
	if (!err && kind == RELAY_INTERVAL)
		add(&l.told, &l.relayed.frames);
	return err < 0 ? err : 0;
}

void set_up(void)
{
	int pair[2];
	u64 seed = 7;

	memset(&l, 0, sizeof(l));
	do
		world_init(seed++);
	while (!w.slow.n);
	for (u32 i = 0; i < WATCHES; i++)
		w.frames.f[i].number = i;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	relay_init(&l.relay, pair[0]);
	l.reader.fd = pair[1];
	assert_int_equal(relay_begin(&l.relay, &w.run), 0);
}

void tear_down(void)
{
	relay_uninit(&l.relay);
	relayed_uninit(&l.relayed);
	channel_reader_uninit(&l.reader);
	close(l.reader.fd);
}

/* An interval of a second, with a few IOs of 100 us in each of @spread cells. */
static void line_interval(u32 spread)
{
	struct frames *fs = &w.frames;

	for (u32 i = 0; i < fs->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_frame *o = &fs->f[i].ops[op];

			hist_clear(&o->hist);
			hist_clear(&o->after_idle);
			*o = (struct op_frame){ .hist = o->hist, .after_idle = o->after_idle };
			for (u32 cell = 0; cell < spread; cell++)
				hist_put(&o->hist, 300 + cell, 3);
			o->ios = hist_count(&o->hist);
			o->counted.bytes = o->bytes = o->ios * 4096;
			o->sum_ns = o->ios * 100000;
			l.ios += o->ios;
			l.bytes += o->bytes;
		}
	for (u32 i = 0; i < fs->n; i++) {
		fs->f[i].interval_s = 1;
		l.slow += w.slow.of[i].found;
	}
	for (u32 i = 0; i < fs->n; i++) {
		l.counts[i].started++;
		l.counts[i].n_halts = 1;
		l.counts[i].halts[0] = (struct halt){ 2 * l.counts[i].started, 2 * l.counts[i].started + 1 };
		fs->f[i].counts = &l.counts[i];
	}
	l.now.skipped++;
	fs->now = &l.now;
	fs->drain_ns = 1000;
	assert_int_equal(relay_interval(&l.relay, fs), 0);
}

/* The reader takes what the relay holds, and what was sent before it: nothing of @n intervals is missing. */
static void end_relay(u32 n)
{
	assert_int_equal(relay_stop(&l.relay, "the end"), 0);
	while (!l.told.stopped[0]) {
		assert_int_equal(channel_read(&l.reader, take, NULL), 0);
		channel_flush(&l.relay.channel);
	}
	assert_string_equal(l.told.stopped, "the end");
	assert_true(l.told.reads == n && l.told.drain_ns == n * 1000 && l.told.length_s == n);
	assert_true(l.told.ios == l.ios && l.told.bytes == l.bytes && l.told.slow == l.slow);
	assert_true(l.told.counts && l.told.started == n && l.told.skipped == n);
}

TEST(test_what_is_told_arrives)
{
	for (u32 i = 0; i < 50; i++)
		line_interval(20);
	end_relay(50);
	assert_true(l.told.intervals == 50 && l.told.begun == 1 && l.told.slow_told == 50 * w.slow.n);
	assert_int_equal(l.told.halts, 50 * WATCHES);
	assert_int_equal(l.runs, 1);	/* nothing of the run has changed since the first */
}

/* Nobody reads: what waits is bounded, and no counts are missing when somebody reads again. */
TEST(test_a_slow_reader_gets_longer_intervals)
{
	const u32 n = 4000;
	size_t most = 0;

	for (u32 i = 0; i < n; i++) {
		size_t waits;

		line_interval(300);
		waits = channel_waiting(&l.relay.channel);
		most = waits > most ? waits : most;
	}
	assert_true(most > RELAY_HOLD && most < RELAY_HOLD + (1 << 20));
	end_relay(n);
	assert_true(l.told.intervals > 10 && l.told.intervals < n / 2);
	/* A long interval tells the first of its halts. */
	assert_true(l.told.halts > l.told.intervals * WATCHES && l.told.halts <= l.told.intervals * WATCHES * HALTS_MOST);
	assert_true(l.told.slow_told > 0 && l.told.slow_told <= l.told.intervals * WATCHES * w.run.slow_most);
}

/* Held intervals belong to the devices at that time, even if these go away while nobody reads, or another one has the name. */
TEST(test_devices_that_change_while_nobody_reads)
{
	for (u32 gone = 0; gone < 2; gone++) {
		u32 n = 2;

		for (; channel_waiting(&l.relay.channel) <= RELAY_HOLD; n++)
			line_interval(300);
		line_interval(300);		/* held */
		w.frames.n -= gone;
		w.frames.f[0].number += !gone;
		if (gone)
			memset(w.devices[1].name, 'x', 5);	/* as when the memory is used again */
		line_interval(300);
		end_relay(n);
		assert_int_equal(l.runs, 2);
		w.frames.n += gone;
		tear_down();
		set_up();
	}
}

/* Owners of parts that come and go make no other run for those that keep it; devices do. */
TEST(test_devices_make_another_run)
{
	l.relayed.keeps_run = true;
	line_interval(20);
	w.frames.f[0].number++;		/* has the run told anew */
	line_interval(20);
	channel_read(&l.reader, take, NULL);
	assert_true(l.runs == 2 && l.told.begun == 1 && l.told.intervals == 2);
	w.run.memory_bytes++;
	memset(w.devices[1].name, 'x', 5);
	line_interval(20);
	channel_read(&l.reader, take, NULL);
	assert_true(l.runs == 3 && l.told.begun == 2 && l.told.intervals == 3);
}

/* The relay gives up rather than take all memory: each change of the devices is a message of its own. */
TEST(test_what_waits_has_an_end)
{
	int err = 0;

	for (u32 i = 0; !err && i < 100000; i++) {
		w.run.memory_bytes = i;
		any_frames(&w.frames);
		err = relay_interval(&l.relay, &w.frames);
		assert_true(channel_waiting(&l.relay.channel) <= CHANNEL_MOST + (1 << 20));
	}
	assert_int_equal(err, -ENOBUFS);
}

TEST(test_a_reader_that_has_gone)
{
	shutdown(l.reader.fd, SHUT_RDWR);
	for (u32 i = 0; i < 1000; i++)
		line_interval(300);
	assert_true(channel_waiting(&l.relay.channel) <= RELAY_HOLD + (1 << 20));
}

TEST(test_messages_out_of_order_are_refused)
{
	struct relayed r = { 0 };

	for (u32 kind = 0; kind < RELAY_MESSAGES + 3; kind++)
		if (kind != RELAY_STOP)
			assert_int_equal(relayed_take(&r, kind, &(struct wire_in){ 0 }), -EBADMSG);
	relayed_uninit(&r);
}
