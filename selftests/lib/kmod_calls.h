/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls for kmod_fuzz, each encoded in four bytes: system calls to the module, and things that a process does and the
 * module must follow, such as mmap() and fork().
 */
#ifndef MASSIF_SELFTESTS_KMOD_CALLS_H
#define MASSIF_SELFTESTS_KMOD_CALLS_H

#include <stdint.h>
#include <sys/types.h>

enum kmod_call_kind {
	KMOD_CALL_OPEN,
	KMOD_CALL_CLOSE,
	KMOD_CALL_QUERY,
	KMOD_CALL_SETUP,
	KMOD_CALL_ENROL,
	KMOD_CALL_ATTACH,
	KMOD_CALL_RESYNC,
	KMOD_CALL_STATUS,
	KMOD_CALL_TEST,
	KMOD_CALL_HOOK,
	KMOD_CALL_KNOWN,
	KMOD_CALL_ANY_IOCTL,
	KMOD_CALL_MAP_DEVICE,
	KMOD_CALL_CHANGE_RING,
	KMOD_CALL_MAP,
	KMOD_CALL_CHANGE_MAP,
	KMOD_CALL_BREAK,
	KMOD_CALL_STACK,
	KMOD_CALL_FORK,
	KMOD_CALL_THREAD,
	KMOD_CALL_LIMIT,
	KMOD_CALL_OTHER,
	KMOD_CALLS,
};

struct kmod_call {
	uint8_t what; /* the kind of call: this byte modulo KMOD_CALLS is an enum kmod_call_kind */
	uint8_t a, b, c; /* arguments, whose meaning depends on the kind of call */
};

/* Prepares the calling process for kmod_calls_make(). @victim: another process of the same user, to attach to. */
void kmod_calls_begin(pid_t victim);

/*
 * Executes the call encoded in @call. Every combination of its four bytes encodes some call. The call may fail, block
 * forever, or end the process.
 */
void kmod_calls_make(const struct kmod_call *call);

/* Closes all open descriptors of the device. */
void kmod_calls_end(void);

/* Maps, touches and unmaps a few pages. */
void kmod_calls_map_some(uint8_t choice);

#endif
