// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a build's sanitizers do when they find something, whatever a test's environment says: they end the program with
 * a status that no command has, and leave a file of their own, so that no test can overlook it (tests/run.py).
 */
#define ENDS "exitcode=99:log_path=" REPORTS "/report"

const char *__asan_default_options(void);
const char *__lsan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);

/* A quarantine of 256 MiB would hide which tests look at memory, and why. */
const char *__asan_default_options(void)
{
	return ENDS ":detect_stack_use_after_return=1:strict_string_checks=1:quarantine_size_mb=8";
}

const char *__lsan_default_options(void)
{
	return "exitcode=99";
}

const char *__ubsan_default_options(void)
{
	return ENDS ":print_stacktrace=1";
}

const char *__tsan_default_options(void)
{
	return ENDS ":halt_on_error=1";
}
