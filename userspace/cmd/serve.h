/* SPDX-License-Identifier: GPL-2.0-only */
/* 'blklat serve': its processes, devices, the loop. */
#ifndef CMD_SERVE_H
#define CMD_SERVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cmd/capture_options.h"
#include "cmd/watches.h"
#include "core/monitor.h"
#include "report/condition.h"
#include "service/address.h"
#include "service/download.h"
#include "service/otlp_push.h"
#include "service/prometheus.h"
#include "service/relay.h"
#include "service/web_config.h"
#include "util/confine.h"
#include "util/notify.h"
#include "util/realtime.h"

/* --- serve_life.c: runs it, from its options to its exit status, and prints messages --- */

#define SERVE_USER "nobody"
#define KEEP_IF_MAX 8

/* When the minutes around an interval are kept. */
struct keep_if {
	bool sick;			/* when a device is; else: */
	struct condition condition;	/* without a baseline or a phase */
};

struct serve_options {
	struct capture_options capture;
	struct address address;
	bool unheard;		/* it serves nobody, and only records */
	int schema;
	double history_s;
	const char *web_file;
	bool bins;
	const char *user;	/* NULL: not given */
	const char *record;	/* a folder; NULL: do not record */
	double keep_s;		/* 0: not given, like the next one */
	u64 keep_bytes;
	struct keep_if keep_if[KEEP_IF_MAX];
	u32 n_keep_if;
	struct option_file config;
	const char *otlp;	/* a URL; NULL: do not push */
	const char *otlp_ca, *otlp_headers;	/* files; NULL: not given */
	double otlp_interval_s;	/* 0: not given */
	char *line;		/* the command line as typed */
	int argc;
	char **argv;
};

/*
 * Reads the command line and the file that it names. Returns a negative number if that is valid, else an exit status,
 * see options_parse(). To be freed in either case.
 */
int serve_options_read(struct serve_options *o, int argc, char **argv);
void serve_options_free(struct serve_options *o);

/*
 * Whether @file would do for --config. Returns STATUS_DONE, or another exit status after a message. @who: see struct
 * command.
 */
int serve_config_check(char *who, char *file);

/* Serves until it is told to end; @who is the command's name in messages. Returns the exit status. */
int serve_life(const struct serve_options *o, const char *who);

struct serve;

/* --- serve_devices.c: which devices it watches, as devices come and go while it runs --- */

struct serve_devices {
	const struct wanted *wanted;
	bool follow;		/* wanted devices may appear: a pattern, "all", or one waited for */
	bool begun;		/* a first look succeeded */
	bool *waits;		/* [wanted name] its device is not there yet */
	bool *optional;		/* [wanted name] it may be absent at the first look */
	u32 n_waits;
};

/*
 * Finds out which of the named devices exist. Missing ones are waited for, and for each a message says why. For a
 * @replay nothing is looked up. Returns 0, or a negative errno and a sentence.
 */
int serve_devices_init(struct serve_devices *s, const struct wanted *wanted, bool replay, struct problem *p);
void serve_devices_uninit(struct serve_devices *s);

/* A short status for the service manager: "Watching", and which devices it waits for. */
void serve_devices_status(const struct serve_devices *s, char *ret, size_t size);

/*
 * Makes the watches of the devices in @t with their parts, in malloc()ed memory, each watch once. A pattern that
 * matches nothing is not an error, nor is a device that is waited for. After the first look a device that is gone or
 * lacks a stage is no error either: it is left out. Returns 0, or the error of watches_make().
 */
int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p);

/*
 * The exit status if the capture could not be opened. A failure that another start may cure is
 * not an error of the command line: a device that went away, or more devices than there is memory for.
 */
int serve_devices_exit(const struct capture_ops *engine, int err);

/* --- serve_server.c --- */

/*
 * The process of a service that talks to the network, as seen by the process that captures. It has the
 * feed, the totals and the web server. It learns of intervals and of --web-config by messages
 * (service/relay.h, SERVER_WEB), and is confined (util/confine.h) before the first one.
 *
 * Nothing that it says is trusted, since an attacker may have taken it over. It sends signs, bytes that
 * are thrown away, in two pipes: that its loop runs, and that it took what it was told. A descriptor of
 * the process shows that it has ended.
 */
#define SERVER_WEB RELAY_MESSAGES	/* a message: --web-config and the contents of its files */

/* Any process that the service starts: this one, or one of those below. */
struct serve_child {
	const char *name;		/* in messages: "the web server" */
	const char *comm;		/* as 'ps' shows it */
	/*
	 * In it: gives up privileges and priority, and then works until the stream of @messages ends, giving signs.
	 * @s, @parent: the service. Returns -EPIPE, or another negative errno, and a sentence or nothing in @p.
	 */
	int (*work)(const struct serve *s, pid_t parent, int messages, int taken, int alive, struct problem *p);
};
extern const struct serve_child server_process, recorder_process, otlp_process;

struct serve_server {
	const char *name;		/* in messages */
	pid_t pid;			/* 0: none */
	int process;			/* readable once it has ended */
	int taken, alive;		/* its signs (pipes) */
	int keeps;			/* closing it kills the process */
	struct relay relay;		/* of intervals */
	bool follows;			/* it gets them */
	bool ended;			/* that was seen */
	u64 alive_ns;			/* when its last sign of life was seen */
};

/*
 * Starts the process, which inherits a copy of everything; @keep_fd: a descriptor that it needs, or -1. Must be called
 * while there is only one thread, and nothing is open that it must not have. Returns 0, or a negative errno and a
 * sentence; serve_server_end() after either.
 */
int serve_server_start(const struct serve_child *c, const struct serve *s, int keep_fd, struct serve_server *ret,
		       struct problem *p);

/*
 * Sends it the contents of --web-config's files, with which it begins to serve, and waits until it has taken that.
 * Returns 0 or a negative errno; -ECHILD if it has ended, -ETIMEDOUT if it takes too long. It prints itself what it
 * could not use.
 */
int serve_server_begin(struct serve_server *s, const struct web_config *web);

/* Whether it has given a sign of life recently. */
bool serve_server_alive(struct serve_server *s);

/* Whether it has ended by itself. If so, @p says how, or is empty if it has already told why. */
bool serve_server_ended(const struct serve_server *s, struct problem *p);

/*
 * Ends it, and waits @ms for that. One that hangs is killed.
 * Takes a struct that is all 0.
 */
void serve_server_end(struct serve_server *s, int ms);

/* --- serve_incidents.c --- */

/*
 * The process that records what the service serves, in files of an hour (recording/archive.h). It learns of intervals
 * by messages (service/relay.h), is confined to its folder (confine_to_folder()) before the first one, and prints
 * failures. It gives no signs.
 */
struct serve_recorder_config {
	const char *who;		/* program name, for messages */
	const char *folder;
	u64 keep_ns, max_bytes;		/* see struct archive_limits */
	const struct keep_if *keep_if;
	u32 n_keep_if;
	struct recorder_state *state;	/* shared with the server; only written here */
	const struct origin *origin;	/* of each file */
};

#define RECORDER_KEEP_S (24 * 3600.0)		/* unless the user says otherwise */
#define RECORDER_KEEP_BYTES (1ULL << 30)
#define RECORDER_LEAST_BYTES (64ULL << 20)

/* --- serve_otlp.c --- */

/*
 * The process that pushes totals to a collector (service/otlp_push.h): like the recorder, with totals of its own, and
 * confined to what an HTTP client does (confine_client()).
 */
#define OTLP_EVERY_S 10.0		/* unless the user says otherwise */

/* --- serve_download.c: in the process that serves --- */

/* As download_make says; @s is a struct serve. */
int serve_download(void *s, enum download kind, const struct recent *from, char **ret, size_t *ret_len);

/* --- in serve_server.c: the thread that reads --web-config again --- */

/*
 * The server's process can't read files itself. The capture does not wait for that, not even for memory: the thread is
 * there from the beginning, as starting one takes the lock of the address space, which an ordinary thread may hold
 * while it waits for a CPU. The loop sends what it has read, with which the server starts anew.
 */
struct serve_reloader {
	pthread_t thread;
	int wake, done;			/* eventfds: it is to read, and has read */
	struct wire_out web;		/* the message, meanwhile the thread's */
	bool started;
	bool again;			/* another reload is wanted after this one */
	_Atomic enum { RELOAD_NONE, RELOAD_READS, RELOAD_HAS_READ, RELOAD_SENT } step;
	u64 until_ns;			/* when the server must have taken it; UINT64_MAX: nothing is sent */
};

/* Starts the thread, if there is a file or one of options. After confine(). Returns 0 or a negative errno. */
int serve_reloader_start(struct serve *s);

/* Returns at once. If the new files can't be used, a message says so, and the old contents stay in use. */
void serve_reload(struct serve *s);

/* To be called when @done or the server's taken is readable, and at until_ns: goes on with a reload. */
void serve_reloader_tend(struct serve *s, bool done);

/* Waits until no file is read any more. */
void serve_reloader_end(struct serve *s);

/* --- serve_loop.c: in the process that captures --- */

enum { SERVER, RECORDER, PUSHER, SERVE_LINKS };

struct serve {
	const struct serve_options *o;
	const char *who;
	struct serve_devices devices;
	struct confine confine;
	struct notify notify;
	struct serve_reloader reloader;
	struct otlp_target otlp;	/* until its process has it */
	struct web_config web_config;	/* as read at the start */
	struct address address;
	int listen_fd;			/* -1: none, or the server's */
	struct user user;		/* that the server runs as, if root started it */
	struct serve_server links[SERVE_LINKS], *first;	/* first: the one that the service ends with */
	struct origin origin;		/* of recordings */
	/* Mapped, shared by all processes; NULL: nothing is recorded, or pushed. */
	struct recorder_state *recording;
	struct otlp_state *pushing;
	struct monitor_config config;
	/* The loop's: */
	struct monitor monitor;
	struct run_info info;
	int signals;			/* a signalfd; -1: none */
	int uevents;			/* -1: not available */
	bool stopped;
	bool realtime;			/* it has a real-time priority, until it takes too much of a CPU */
	struct realtime_share share;	/* of a CPU, taken by the loop */
	u64 start_ns, read_ns, drain_ns, beat_ns, replayed_ns;
};

/*
 * Opens the capture, if there is anything to watch, and begins the run of all links. Returns 0, or a negative errno and
 * a sentence; serve_loop_end() after either.
 */
int serve_loop_begin(struct serve *s, struct problem *p);

/*
 * Runs until SIGINT, SIGTERM or the end of the first link, and then returns 0; or a negative errno and a sentence if
 * reading or that link failed.
 */
int serve_loop(struct serve *s, struct problem *p);
void serve_loop_end(struct serve *s);

/* Blocks the signals that serve_loop() takes. Must be called before any thread is started. */
void serve_signals_block(void);

#endif
