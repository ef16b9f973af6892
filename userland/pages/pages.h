/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages mode, the aggregator's half: turns the records of massif.ko into one profile for each address space.
 *
 *	mf_pages_open();			creates the session; hooks are armed and tested
 *	fork; in the child: mf_pages_enrol(), then exec
 *	while (!mf_pages_done()) {
 *		poll(mf_pages_fd(), POLLIN, MF_PAGES_POLL_MS);
 *		mf_pages_drain();
 *		while ((process = mf_pages_next_ended()))
 *			write process->store's profile, mf_pages_release(process)
 *	}
 *	mf_pages_end();				only to stop early: ends the profiles of running processes
 *	mf_pages_close();
 *
 * To profile a process that runs already, call mf_pages_join() instead of fork and exec.
 *
 * The session profiles the first program that the enrolled process executes, and the processes that this program forks.
 * A forked process gets a profile of its own, in which the memory it inherited keeps the stacks that allocated it. When
 * a profiled process executes another program, its profile so far is dropped, as Massif does. With traces_children the
 * new program gets a profile of its own, unless skips() excludes it.
 *
 * Environment variables, for tests:
 *
 * MASSIF_DUMP_INTERVALS=FILE: each profile that is kept appends to FILE at its end. The first line is "process <pid>
 * model <pages> kernel <pages> lost <n> mismatches <n>". The second begins with "stacks" and has counters of struct
 * mf_pages_process by name. Then come the mappings as "<start>-<end>" in hexadecimal, in the order of their addresses;
 * adjacent ones are joined. A file FILE.now that contains a word asks for the same of all profiles at once; their first
 * lines end in " at <word>", and FILE.now is removed when the dump is done. Tests compare these lines with
 * /proc/PID/maps.
 *
 * MASSIF_KNOWN_STACKS: "off" disables the stack cache, so that each stack is copied and walked; "verify" also copies
 * and walks each stack, and compares the result with the cached one.
 *
 * MASSIF_RING_KIB: the size of the ring in KiB, a power of two.
 */
#ifndef MASSIF_PAGES_PAGES_H
#define MASSIF_PAGES_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/model.h"
#include "model/store.h"
#include "profile/pages_what.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* Poll timeout. If the ring is full, the kernel's wake-up may be missed, so read it this often in any case. */
#define MF_PAGES_POLL_MS 50

struct mf_pages_options {
	const char *device;	       /* NULL: /dev/massif */
	struct mf_model_options model; /* time_unit: ms or bytes; heap_admin is taken as 0 */
	enum mf_pages_what what;
	uint32_t depth;		       /* frames that a report keeps; 50 more are copied */
	uint64_t ring_bytes;	       /* power of two; 0: chosen by mf_pages_open() */

	/* Filters stacks while they are accounted, because the filter decides what counts; NULL: everything counts. */
	const struct mf_report_options *filter;
	const struct mf_symbolizer_options *names; /* used with @filter */
	struct mf_held *held; /* keeps mapped files open; NULL: the session uses a table of its own */

	/* Called once for each file whose unwind rules could not be read, with the reason; NULL: not called. */
	void (*unreadable)(const char *path, const char *why);

	/* Also profile the programs that profiled processes execute (--trace-children). */
	bool traces_children;
	/*
	 * Returns whether to skip a program that was executed as @path with the @n_bytes of @args, each with its NUL.
	 * The processes it starts are skipped, too. NULL: no program is skipped.
	 */
	bool (*skips)(void *data, const char *path, const char *args, size_t n_bytes);
	void *skips_data;
};

enum mf_pages_state {
	MF_PAGES_RUNNING,  /* the profile is growing */
	MF_PAGES_EXITED,   /* the address space is gone: the profile is complete */
	MF_PAGES_STOPPED,  /* by mf_pages_end(): complete up to then */
	MF_PAGES_REPLACED, /* it executed another program: the profile is dropped, the store empty */
	MF_PAGES_SECURE,   /* it executed a set-uid or unreadable program: as MF_PAGES_REPLACED */
	MF_PAGES_SKIPPED,  /* skips() excluded it: the profile is dropped */
	MF_PAGES_HIDDEN,   /* we may not observe it any more: complete up to then */
	MF_PAGES_TAKEN,	   /* another session has taken it over: complete up to then */
};

/* Events were lost between these two times. The clock is that of start_ns. */
struct mf_pages_loss {
	uint64_t from_ns, to_ns;
	uint64_t count;
};

/* Losses less than this apart are merged; so are all beyond the maximum. */
#define MF_PAGES_LOSS_GAP_NS 100000000ull
#define MF_PAGES_LOSSES_MAX  8

/* One profiled address space. */
struct mf_pages_process {
	pid_t pid;     /* process that the address space was created for */
	bool launched; /* the launched program; false: a process forked from it */
	bool followed; /* the state is REPLACED, and the new program has a profile */
	enum mf_pages_state state;
	char comm[16];		      /* its name in the kernel; if it was replaced, that of the new program */
	char *path;		      /* the path it was executed by; NULL: not known. Owned */
	char *cmd; /* its arguments, joined by blanks; NULL: those of the launched program. Owned */
	uint64_t start_ns, end_ns;    /* CLOCK_MONOTONIC times of its exec or fork, and of its end */
	const struct mf_store *store; /* its profile, for mf_collect(); belongs to the process */

	/* How far the profile can be trusted. */
	uint64_t model_pages;  /* mapped pages, by our accounting */
	uint64_t kernel_pages; /* mapped pages, by the kernel (total_vm) at the end; 0: not known */
	uint64_t mismatches;   /* records at which the two differed although nothing was lost */
	uint64_t lost;	       /* number of records and changes that were lost ... */
	struct mf_pages_loss losses[MF_PAGES_LOSSES_MAX]; /* ... and when they were lost, in order */
	uint32_t n_losses;
	uint64_t events;       /* number of mappings made and removed */
	uint64_t no_stack;     /* mappings whose stack was not available */
	uint64_t captured;     /* stack copies received, whole or only registers */
	uint64_t walked;       /* of them, walked by libunwind because no equal stack was cached */
	uint64_t limited;      /* of them, registers only because the ring had no room for more */
	uint64_t recognised;   /* stacks that the module found in its cache and did not copy */
	uint64_t verified;     /* cached stacks that were copied nevertheless, in verify mode ... */
	uint64_t wrong_stacks; /* ... and turned out to be wrong; expected to be 0 */
	bool exact;	       /* the process exited, nothing was lost, and model_pages == kernel_pages without
			        * mismatches */
};

struct mf_pages;
struct massif_control;
struct massif_consumer;

/*
 * Opens a session. Returns 0 or -errno; @err then says what to do: no device (load the module), no permission, another
 * version (names both), or a hook that does not work on this kernel (names it).
 */
int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err);

/*
 * Reads a ring in ordinary memory (linux/massif.h) instead of the device, for tests and for stored records. The memory
 * must outlive the session. Such a session has no end of its own: call mf_pages_end().
 */
int mf_pages_attach(const struct mf_pages_options *options, const struct massif_control *control,
		    struct massif_consumer *consumer, const uint8_t *data, struct mf_pages **pages,
		    struct mf_error *err);

/* Ends the session and frees it with all its processes. NULL is allowed. */
void mf_pages_close(struct mf_pages *pages);

/* Call in a forked child of this process that continues the session in place of its parent. Returns 0 or -errno. */
int mf_pages_forked(struct mf_pages *pages, struct mf_error *err);

/* Enrols the calling process. For a child between fork and exec: async-signal-safe. Returns 0 or -errno. */
int mf_pages_enrol(const struct mf_pages *pages);

/* Writes the message for @code, the result of a failed mf_pages_enrol(), to @err. For the parent. Returns @code. */
int mf_pages_enrol_error(int code, struct mf_error *err);

/*
 * Makes the running process @pid a member. Its profile begins with what it has mapped. Returns 0 or -errno, with what
 * to do in @err: -ESRCH, -EPERM, -EBUSY, -EOPNOTSUPP (a kernel thread), ...
 */
int mf_pages_join(struct mf_pages *pages, pid_t pid, struct mf_error *err);

/* Returns the size of the ring in *@bytes, and in *@most_unread how many bytes of it were unread at most. */
void mf_pages_ring_use(const struct mf_pages *pages, uint64_t *most_unread, uint64_t *bytes);

/* Returns the descriptor to poll for POLLIN. It belongs to the session and is close-on-exec. */
int mf_pages_fd(const struct mf_pages *pages);

/*
 * Reads and accounts the records in the ring. Returns 0, or -errno if the records make no sense or memory ran out; the
 * session can then only be ended and closed.
 */
int mf_pages_drain(struct mf_pages *pages, struct mf_error *err);

/* Returns whether a process was enrolled, none is left, and the ring has been read to its end. */
bool mf_pages_done(const struct mf_pages *pages);

/* Returns a process whose profile has ended and that was not returned before, or NULL. */
struct mf_pages_process *mf_pages_next_ended(struct mf_pages *pages);

/* Frees a process that mf_pages_next_ended() returned. */
void mf_pages_release(struct mf_pages *pages, struct mf_pages_process *process);

/* The profiled processes that were not released, for reading their profiles while they run. */
size_t mf_pages_count(const struct mf_pages *pages);
const struct mf_pages_process *mf_pages_process(const struct mf_pages *pages, size_t index);

/*
 * Drains once more and ends all profiles at their present state; mf_pages_next_ended() then returns them. Returns 0 or
 * -errno.
 */
int mf_pages_end(struct mf_pages *pages, struct mf_error *err);

#endif
