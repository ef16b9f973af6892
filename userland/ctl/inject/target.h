/* SPDX-License-Identifier: GPL-2.0 */
/* What massif-ctl needs to know of a process before it may load the shim into it. */
#ifndef MASSIF_CTL_TARGET_H
#define MASSIF_CTL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum mf_code_owner {
	MF_CODE_LIBC,	   /* the C library: may hold the locks of its malloc */
	MF_CODE_LINKER,	   /* the dynamic linker */
	MF_CODE_ALLOCATOR, /* a library whose malloc replaces that of the C library */
	MF_CODE_VDSO,
};

struct mf_code_range {
	uint64_t start, end;
	enum mf_code_owner owner;
};

#define MF_CODE_RANGES_MAX 64

/* Copies of the shim that are looked at. The dynamic linker has room for the variables of about 30. */
#define MF_SHIMS_MAX 64

/* Each attach that was killed leaves at most one. */
#define MF_ORPHANS_MAX 64

/* One in the C library, one in the dynamic linker. */
#define MF_ROOMS_MAX 2

struct mf_target {
	pid_t pid;
	struct mf_code_range ranges[MF_CODE_RANGES_MAX];
	size_t n_ranges;
	uint64_t dlopen, dlsym, dlerror, errno_location;
	uint64_t dlopen_mode; /* the second argument of @dlopen */
	uint64_t ret;	   /* a return instruction in the C library */
	uint64_t rooms[MF_ROOMS_MAX]; /* bytes between the end of an object's code and that of its last page */
	size_t n_rooms;
	uint64_t restorer; /* the code that ends a signal handler; 0: not found */
	/*
	 * The start addresses of the session memory that earlier attaches left behind because massif-ctl was killed. A
	 * process with more of them than fit is refused.
	 */
	uint64_t orphans[MF_ORPHANS_MAX];
	size_t n_orphans;
	uint64_t shims[MF_SHIMS_MAX]; /* where copies of the shim begin that earlier attaches have loaded */
	size_t n_shims;
	uint64_t linker_state, linker_bytes; /* the dynamic linker's variables, with its locks */
	bool restricted;   /* seccomp restricts its system calls */
};

/*
 * Checks whether process @pid is in a state in which it can be traced and attached to. Returns 0, or -errno with the
 * reason.
 */
int mf_target_check(struct mf_target *target, pid_t pid, struct mf_error *err);

/* Reads what there is to know of the process. Returns 0, or -errno with the reason why the shim cannot be loaded. */
int mf_target_inspect(struct mf_target *target, struct mf_error *err);

/* Finds the ranges of code alone. Returns false if there are too many. */
bool mf_target_ranges(struct mf_target *target, pid_t pid);

/* Returns the range that contains @address, or NULL. */
const struct mf_code_range *mf_target_range(const struct mf_target *target, uint64_t address);

#endif
