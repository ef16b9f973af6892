// SPDX-License-Identifier: GPL-2.0
// Tests whether memory is readable, by letting the kernel try to read it.
//
// Uses futex(2), which reads a word before it waits. Sandboxes allow this call because the program's own malloc makes
// it when a thread has to wait. The arguments used here make the call return without waiting.

#include "readable.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define FUTEX_BYTES 4u
/*
 * An arbitrary value for futex(2) to compare with the word that is being tested. Even if the two happen to be equal,
 * futex(2) does not wait, because the timeout is 0.
 */
#define UNLIKELY_VALUE 0x6d73661bu

static bool forbidden;

void mf_readable_forbid(bool forbids)
{
	__atomic_store_n(&forbidden, forbids, __ATOMIC_RELAXED);
}

bool mf_readable_is_forbidden(void)
{
	return __atomic_load_n(&forbidden, __ATOMIC_RELAXED);
}

/* futex(2) reads 32 bits and requires them to be aligned. */
static bool is_readable_half(uint64_t address)
{
	const struct timespec none = { 0 };

	return !syscall(SYS_futex, address & ~(uint64_t)(FUTEX_BYTES - 1), FUTEX_WAIT_PRIVATE, UNLIKELY_VALUE,
			&none, NULL, 0) ||
	       errno != EFAULT;
}

bool mf_readable_word(uint64_t address)
{
	int saved = errno;
	bool readable;

	if (!address || mf_readable_is_forbidden())
		return false;
	readable = is_readable_half(address);
	if (readable && address % PAGE_BYTES > PAGE_BYTES - sizeof(uint64_t))
		readable = is_readable_half(address + sizeof(uint64_t) - 1);
	errno = saved;
	return readable;
}

/* The last page that was found readable. 0 means none, since page 0 is never mapped. */
struct asked {
	uint64_t page;
};

static bool is_readable(struct asked *asked, const void *at)
{
	uint64_t page = (uint64_t)at & ~(uint64_t)(PAGE_BYTES - 1);

	if (page == asked->page)
		return page;
	if (!mf_readable_word(page))
		return false;
	asked->page = page;
	return page;
}

static bool is_readable_text(struct asked *asked, const char *text)
{
	do
		if (!is_readable(asked, text))
			return false;
	while (*text++);
	return true;
}

bool mf_readable_text(const char *text)
{
	struct asked asked = { 0 };

	return is_readable_text(&asked, text);
}

bool mf_readable_texts(char *const *texts)
{
	struct asked array = { 0 }, words = { 0 };

	for (;; texts++) {
		if (!is_readable(&array, texts) ||
		    !is_readable(&array, (const char *)(texts + 1) - 1))
			return false;
		if (!*texts)
			return true;
		if (!is_readable_text(&words, *texts))
			return false;
	}
}
