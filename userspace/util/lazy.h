/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Libraries that few commands need are loaded by these with dlopen(), as loading them takes three quarters of the time
 * of a start. The Makefile links the program with a stub for each function of theirs that it calls. A program without
 * stubs, such as the release's or a unit test, is linked with the libraries themselves, and there is nothing to load.
 */
#ifndef UTIL_LAZY_H
#define UTIL_LAZY_H

#include "util/problem.h"

struct lazy_function {
	void *address;
	const char *library, *name;
};

/*
 * Loads the functions whose names begin with @prefix. Comes before they are called, and before the process is confined.
 * Returns 0, or -ENOENT and a sentence.
 */
int lazy_load(const char *prefix, struct problem *p);

#if defined(__x86_64__)
#define LAZY_JUMP(to) "endbr64\n jmp *" to "(%rip)\n"
#elif defined(__aarch64__)
#define LAZY_JUMP(to) "hint #34 /* bti c */\n adrp x16, " to "\n ldr x16, [x16, #:lo12:" to "]\n br x16\n"
#endif

/*
 * A stub, which leaves all arguments where they are. The linker knows where the section begins and ends; without
 * the alignment the compiler might leave gaps in it.
 */
#define LAZY(library, function) \
	extern struct lazy_function lazy_##function; \
	__attribute__((used, visibility("hidden"), section("lazy_functions"), aligned(sizeof(void *)))) \
	struct lazy_function lazy_##function = { 0, library, #function }; \
	asm(".pushsection .text\n .globl " #function "\n .hidden " #function "\n .type " #function ", %function\n" \
	    #function ":\n" LAZY_JUMP("lazy_" #function) ".popsection\n");

#endif
