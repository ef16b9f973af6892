/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages mode, aggregator side: turns the records of massif.ko into one profile per address space.
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
 * To profile a process that is already running, call mf_pages_join() instead of fork and exec.
 *
 * The session profiles the first program that the enrolled process executes, and the processes that this program forks.
 * A forked process gets a profile of its own, in which inherited memory remains attributed to the stacks that allocated
 * it. When a profiled process executes another program, its profile so far is dropped, as in Massif. With
 * traces_children, the new program gets a profile of its own unless skips() excludes it.
 *
 * Environment variables, for tests:
 *
 * MASSIF_DUMP_INTERVALS=FILE: each profile that is kept appends a dump to FILE when it ends. The first line is "process
 * <pid> model <pages> kernel <pages> lost <n> mismatches <n>". The second begins with "stacks" and lists counters of
 * struct mf_pages_process by name. Then come the mappings as "<start>-<end>" in hexadecimal, in address order; adjacent
 * mappings are joined. Creating a file FILE.now that contains a word makes all profiles append such a dump immediately;
 * the first line of each then ends in " at <word>", and FILE.now is removed afterwards. Tests compare these lines with
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

/* Poll timeout. Read the ring at least this often, because a wake-up may be missed when the ring is full. */
#define MF_PAGES_POLL_MS 50

struct mf_pages_options {
	const char *device;	       /* path of the module's device; NULL for /dev/massif */
	/* options of the model; the time unit must be ms or bytes, and heap_admin is treated as 0 */
	struct mf_model_options model;
	enum mf_pages_what what;
	uint32_t depth;		       /* number of frames that a report keeps; 50 more are recorded */
	/* size of the ring in bytes: a power of two, or 0 to let mf_pages_open() choose */
	uint64_t ring_bytes;

	/*
	 * Filter for the stacks, applied when a stack is accounted for, because it decides which pages count. If NULL,
	 * all pages count.
	 */
	const struct mf_report_options *filter;
	const struct mf_symbolizer_options *names; /* options for looking up the names that @filter needs */
	struct mf_held *held; /* keeps mapped files open; if NULL, the session uses its own table */

	/* If not NULL: called once for each file whose unwind rules could not be read, with the reason. */
	void (*unreadable)(const char *path, const char *why);

	/* Also profile the programs that profiled processes execute (--trace-children). */
	bool traces_children;
	/*
	 * Returns whether to skip a program that was executed as @path with the NUL-terminated arguments in the
	 * @n_bytes of @args. The processes that it starts are skipped, too. If this function pointer is NULL, no
	 * program is skipped.
	 */
	bool (*skips)(void *data, const char *path, const char *args, size_t n_bytes);
	void *skips_data;
};

enum mf_pages_state {
	MF_PAGES_RUNNING,  /* the process is still running: the profile is growing */
	MF_PAGES_EXITED,   /* the address space no longer exists: the profile is complete */
	MF_PAGES_STOPPED,  /* mf_pages_end() has ended the profile, which is complete up to that point */
	MF_PAGES_REPLACED, /* the process executed another program: the profile is dropped, and its store is empty */
	/*
	 * the process has executed a set-uid or unreadable program, so the profile has been dropped and its store is
	 * empty
	 */
	MF_PAGES_SECURE,
	MF_PAGES_SKIPPED,  /* skips() excluded the program: the profile is dropped */
	/*
	 * massif-ctl may no longer observe the process, because it is no longer dumpable or its credentials have
	 * changed: the profile is complete up to this change
	 */
	MF_PAGES_HIDDEN,
	MF_PAGES_TAKEN,	   /* another session has taken over the process: the profile is complete up to the takeover */
};

/*
 * An interval in which events were lost, and the number of lost events. The interval is from from_ns to to_ns
 * (CLOCK_MONOTONIC).
 */
struct mf_pages_loss {
	uint64_t from_ns, to_ns;
	uint64_t count;
};

/*
 * Intervals in which events were lost are merged if they are less than this time apart. Once there are
 * MF_PAGES_LOSSES_MAX intervals, further ones are merged with the last one.
 */
#define MF_PAGES_LOSS_GAP_NS 100000000ull
#define MF_PAGES_LOSSES_MAX  8

/* One profiled address space. */
struct mf_pages_process {
	pid_t pid;     /* process for which the address space was created */
	pid_t parent;  /* the process that forked it; 0 if not known */
	bool launched; /* this is the launched program, not a process forked from it */
	bool followed; /* the process executed another program (MF_PAGES_REPLACED), which has a profile of its own */
	enum mf_pages_state state;
	/* the process's name as in /proc/PID/comm; if it executed another program, the name of that program */
	char comm[16];
	char *path;		      /* the path used to execute the program, or NULL if unknown; owned */
	/* the program's arguments, separated by spaces; NULL if they are those of the launched program; owned */
	char *cmd;
	uint64_t start_ns, end_ns;    /* CLOCK_MONOTONIC times of the process's exec or fork, and of its end */
	const struct mf_store *store; /* the profile of the process, for mf_collect(); belongs to the process */

	/* How far the profile can be trusted. */
	uint64_t model_pages;  /* number of mapped pages according to our accounting */
	uint64_t kernel_pages; /* the kernel's count of mapped pages (total_vm) at the end; 0 if unknown */
	/* number of records at which model_pages and the kernel's count differed although nothing was lost */
	uint64_t mismatches;
	/* number of lost records, plus the number of changes to the address space that the module did not see */
	uint64_t lost;
	/* intervals in which records were lost, in chronological order */
	struct mf_pages_loss losses[MF_PAGES_LOSSES_MAX];
	uint32_t n_losses;
	uint64_t events;       /* number of mappings created and removed */
	uint64_t no_stack;     /* number of mappings whose stack was not available */
	uint64_t captured;     /* number of stack copies received, including those with only registers */
	uint64_t walked;       /* number of stack copies walked by libunwind because no identical stack was cached */
	uint64_t limited;      /* number of stack copies that contain only registers because the ring had no room for
			        * more */
	uint64_t recognised;   /* number of stacks that the module found in its cache and did not copy */
	/* in verify mode: number of stacks that were copied although the module found them in its cache */
	uint64_t verified;
	/* in verify mode: number of cached stacks that turned out to be wrong; expected to be 0 */
	uint64_t wrong_stacks;
	bool exact;	       /* the process exited, nothing was lost, and model_pages == kernel_pages without
				* mismatches */
};

struct mf_pages;
struct massif_control;
struct massif_consumer;

/*
 * Opens a session. Returns 0, or -errno with a message in @err that says what is wrong and what to do: there is no
 * device (load the module), permission is denied, the versions differ (the message names both), or a hook does not work
 * on this kernel (the message names it).
 */
int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err);

/*
 * Reads a ring in ordinary memory (linux/massif.h) instead of the device, for tests and for stored records. The memory
 * must outlive the session. Such a session does not end by itself: call mf_pages_end().
 */
int mf_pages_attach(const struct mf_pages_options *options, const struct massif_control *control,
		    struct massif_consumer *consumer, const uint8_t *data, struct mf_pages **pages,
		    struct mf_error *err);

/* Ends the session and frees it with all its processes. NULL is allowed. */
void mf_pages_close(struct mf_pages *pages);

/* Call in a forked child of this process that continues the session in place of its parent. Returns 0 or -errno. */
int mf_pages_forked(struct mf_pages *pages, struct mf_error *err);

/*
 * Enrols the calling process. Call this in a child between fork and exec; it is async-signal-safe. Returns 0 or -errno.
 */
int mf_pages_enrol(const struct mf_pages *pages);

/*
 * Writes the message for @code, the result of a failed mf_pages_enrol(), to @err. Call this in the parent. Returns
 * @code.
 */
int mf_pages_enrol_error(int code, struct mf_error *err);

/*
 * Makes the running process @pid a member. Its profile starts with its existing mappings. Returns 0, or -errno with a
 * message in @err that says what to do: -ESRCH, -EPERM, -EBUSY, -EOPNOTSUPP (a kernel thread), ...
 */
int mf_pages_join(struct mf_pages *pages, pid_t pid, struct mf_error *err);

/*
 * Stores the size of the ring in *@bytes, and the largest number of bytes that were unread at any time in
 * *@most_unread.
 */
void mf_pages_ring_use(const struct mf_pages *pages, uint64_t *most_unread, uint64_t *bytes);

/* Returns the descriptor to poll for POLLIN. It belongs to the session and is close-on-exec. */
int mf_pages_fd(const struct mf_pages *pages);

/*
 * Reads the records in the ring and accounts for them. Returns 0, or -errno if a record is invalid or if out of memory;
 * after an error, the session can only be ended and closed.
 */
int mf_pages_drain(struct mf_pages *pages, struct mf_error *err);

/*
 * Returns whether the session is over: processes were enrolled, all have exited, and the ring has been read completely.
 */
bool mf_pages_done(const struct mf_pages *pages);

/* Returns the next process whose profile has ended, or NULL. Each process is returned once. */
struct mf_pages_process *mf_pages_next_ended(struct mf_pages *pages);

/* Frees a process that mf_pages_next_ended() returned. */
void mf_pages_release(struct mf_pages *pages, struct mf_pages_process *process);

/*
 * These functions return the number of processes that have a profile, and the process with a given index, so that
 * profiles can be read while the processes run. Processes that were passed to mf_pages_release() are no longer
 * included.
 */
size_t mf_pages_count(const struct mf_pages *pages);
const struct mf_pages_process *mf_pages_process(const struct mf_pages *pages, size_t index);

/*
 * Returns the newest process with the pid @pid that is running, or has ended other than by executing a program, and has not
 * been released; NULL if there is none.
 */
const struct mf_pages_process *mf_pages_find(const struct mf_pages *pages, pid_t pid);

/*
 * Returns in *@memory a descriptor of the memory of @process->store, which remains the session's. The first time, the
 * memory is made one that other processes can map. Returns 0 or -errno.
 */
int mf_pages_share(const struct mf_pages_process *process, int *memory, struct mf_error *err);

/* The resident pages of a process; the session counts them (MF_PAGES_RESIDENT). */
struct mf_pages_resident {
	uint64_t bytes;	  /* now, or when its profile ended */
	uint64_t most;	  /* the largest number so far */
	uint64_t most_ns; /* when that was reached (CLOCK_MONOTONIC) */
};

struct mf_pages_resident mf_pages_resident(const struct mf_pages_process *process);

/* Called with the address of a resident page, and the context that it is charged to, as a number of mf_collect(). */
typedef void mf_pages_found(void *data, uint64_t address, uint32_t context);

/* Calls @found for each resident page of @process from @start to @end, in no particular order. */
void mf_pages_each_resident(const struct mf_pages_process *process, uint64_t start, uint64_t end, mf_pages_found *found,
			    void *data);

/*
 * Drains the ring once more and ends all profiles in their current state; mf_pages_next_ended() then returns them.
 * Returns 0 or -errno.
 */
int mf_pages_end(struct mf_pages *pages, struct mf_error *err);

#endif
