// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a program: makes allocation number $FAIL_AT since the start of main() fail, and with $FAIL_ON all
 * that follow it too. With $FAIL_LIST none fails; that file then lists the numbers to try, the first one of each call
 * path that leads to an allocation. Its last line is the number of allocations. $FAIL_SHOW prints the failing path
 * to stderr.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 12	/* with fewer callers different paths look the same, with more each path looks new */
#define WAYS (1 << 16)

static bool running, all, shown;
static unsigned long at, calls;
static unsigned long ways[WAYS];	/* hashes of paths already seen, 0: free */
static FILE *list;
static int (*program)(int, char **, char **);

static bool seen(unsigned long way)
{
	unsigned long i = way % WAYS;

	while (ways[i] && ways[i] != way)
		i = (i + 1) % WAYS;
	if (ways[i])
		return true;
	ways[i] = way;
	return false;
}

static void note(unsigned long n)
{
	void *frames[DEPTH];
	unsigned long way = 1;

	running = false;	/* allocations made here are not the program's */
	for (int i = backtrace(frames, DEPTH); i--;)
		way = (way ^ (unsigned long)frames[i]) * 0x100000001b3UL;
	if (!seen(way))
		fprintf(list, "%lu\n", n);
	running = true;
}

static void show(void)
{
	void *frames[DEPTH];

	running = false;
	backtrace_symbols_fd(frames, backtrace(frames, DEPTH), 2);
	running = true;
}

static bool fails(void)
{
	unsigned long n;

	if (!running)
		return false;
	n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (list)
		note(n);
	if (!at || n < at || (n > at && !all))
		return false;
	if (shown && n == at)
		show();
	errno = ENOMEM;
	return true;
}

/* dlsym() may itself allocate, so look everything up before main(). */
#define REAL(name) static typeof(name) *real_##name
REAL(malloc);
REAL(calloc);
REAL(realloc);
REAL(posix_memalign);
REAL(aligned_alloc);
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	return fails() ? NULL : real_malloc ? real_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : real_calloc ? real_calloc(n, size) : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : real_realloc ? real_realloc(p, size) : __libc_realloc(p, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	return fails() ? ENOMEM : real_posix_memalign(ret, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : real_aligned_alloc(alignment, size);
}

static void tell(void)
{
	running = false;
	if (list && (fprintf(list, "%lu\n", calls) < 0 || fclose(list)))
		abort();
}

static int run(int argc, char **argv, char **env)
{
	const char *number = getenv("FAIL_AT"), *file = getenv("FAIL_LIST");
	void *frame;

	at = number ? strtoul(number, NULL, 10) : 0;
	all = getenv("FAIL_ON");
	shown = getenv("FAIL_SHOW");
	list = file ? fopen(file, "we") : NULL;
	backtrace(&frame, 1);	/* it allocates on its first call */
	atexit(tell);
	running = true;
	return program(argc, argv, env);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	typeof(__libc_start_main) *real = dlsym(RTLD_NEXT, "__libc_start_main");

	real_malloc = dlsym(RTLD_NEXT, "malloc");
	real_calloc = dlsym(RTLD_NEXT, "calloc");
	real_realloc = dlsym(RTLD_NEXT, "realloc");
	real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	program = main;
	return real(run, argc, argv, init, fini, rtld_fini, stack_end);
}
