/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages mode, the aggregator's half: from the records of massif.ko to one profile per address
 *space.
 *
 *	mf_pages_open();			the session: hooks armed and tried
 *	fork; in the child: mf_pages_enrol(), then exec
 *	while (!mf_pages_done()) {
 *		poll(mf_pages_fd(), POLLIN, MF_PAGES_POLL_MS);
 *		mf_pages_drain();
 *		while ((process = mf_pages_next_ended()))
 *			write process->store's profile, mf_pages_release(process)
 *	}
 *	mf_pages_end();				only to stop early: ends what still runs
 *	mf_pages_close();
 *
 * or, for a process that runs already, mf_pages_join() in the place of fork and exec.
 *
 * What is profiled: the program that the enrolled process executes first, and what it forks.
 * A forked process goes on with the attribution of what it inherited and an own profile. When a
 * profiled process executes another program its profile so far is dropped, as Massif does; with
 * traces_children a new one begins, unless skips() says no.
 *
 * With MASSIF_DUMP_INTERVALS=FILE in the environment, each profile that is kept appends to FILE, at
 * its end, a line "process <pid> model <pages> kernel <pages> lost <n> mismatches <n>", one that
 * begins with "stacks" and has the figures below by name, and its mappings, "<start>-<end>" in
 * hexadecimal, adjacent ones joined, in the order of their addresses. A file FILE.now with a word in
 * it asks for the same of all profiles at once, and is removed when that is done; their first lines
 * end in " at <word>". It is how the tests hold the model against /proc/PID/maps.
 *
 * MASSIF_KNOWN_STACKS in the environment, for tests as well: "off", no stack is known, each is
 * captured and walked; "verify", each is, and compared with what would have been taken for equal.
 * MASSIF_RING_KIB, a power of two, is the size of the ring.
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

/* The kernel's wake-up may be lost in a full ring: look at it this often in any case. */
#define MF_PAGES_POLL_MS 50

struct mf_pages_options {
	const char *device;	       /* NULL: /dev/massif */
	struct mf_model_options model; /* time_unit: ms or bytes; heap_admin is taken as 0 */
	enum mf_pages_what what;
	uint32_t depth;		       /* frames that a report keeps; 50 more are captured */
	uint64_t ring_bytes;	       /* power of two; 0: a default */

	/* What filters stacks where that decides on what counts; NULL: everything counts. */
	const struct mf_report_options *filter;
	const struct mf_symbolizer_options *names; /* with @filter */
	struct mf_held *held; /* of files that are mapped; NULL: a table of its own */

	/* Profile also the programs that profiled processes execute, by --trace-children. */
	bool traces_children;
	/*
	 * Whether to leave out one that was executed as @path with the @n_bytes of @args, each with
	 * its NUL; then what it starts is left out, too. NULL: none is.
	 */
	bool (*skips)(void *data, const char *path, const char *args, size_t n_bytes);
	void *skips_data;
};

enum mf_pages_state {
	MF_PAGES_RUNNING,  /* profile growing */
	MF_PAGES_EXITED,   /* the address space is gone: profile complete */
	MF_PAGES_STOPPED,  /* by mf_pages_end(): profile complete up to then */
	MF_PAGES_REPLACED, /* executed another program: profile dropped, store empty */
	MF_PAGES_SECURE,   /* executed a set-uid or unreadable program: as MF_PAGES_REPLACED */
	MF_PAGES_SKIPPED,  /* skips() said so: profile dropped */
	MF_PAGES_HIDDEN,   /* may not be looked at any more: profile complete up to then */
	MF_PAGES_TAKEN,	   /* is another session's now: profile complete up to then */
};

/* When events were lost: after the one, before the other. Clock as that of start_ns. */
struct mf_pages_loss {
	uint64_t from_ns, to_ns;
	uint64_t count;
};

/* Losses closer to each other than this are one; more than so many are, too. */
#define MF_PAGES_LOSS_GAP_NS 100000000ull
#define MF_PAGES_LOSSES_MAX  8

/* One profiled address space. */
struct mf_pages_process {
	pid_t pid;     /* of the process that it was made for */
	bool launched; /* the launched program; false: forked from it */
	bool followed; /* REPLACED, and its new program has a profile */
	enum mf_pages_state state;
	char comm[16];		      /* its name in the kernel; of what replaced it, if it was */
	char *path;		      /* by which it was executed; NULL: not known. Owned */
	char *cmd; /* its arguments, with blanks between; NULL: those of the launched one. Owned */
	uint64_t start_ns, end_ns;    /* CLOCK_MONOTONIC: of its exec or fork, and of its end */
	const struct mf_store *store; /* its profile, for mf_collect(); belongs to the process */

	/* How far it can be trusted. */
	uint64_t model_pages;  /* mapped, by our accounting */
	uint64_t kernel_pages; /* mapped, by the kernel's (total_vm) at the end; 0: not known */
	uint64_t mismatches;   /* records at which the two differed though nothing was lost */
	uint64_t lost;	       /* records and changes that the kernel could not tell us ... */
	struct mf_pages_loss losses[MF_PAGES_LOSSES_MAX]; /* ... and when, in order */
	uint32_t n_losses;
	uint64_t events;       /* mappings and unmappings accounted */
	uint64_t no_stack;     /* mappings whose stack could not be had */
	uint64_t captured;     /* stacks that came whole, or as registers */
	uint64_t walked;       /* of them, by libunwind: no equal one was known */
	uint64_t limited;      /* of them, registers only: the ring had no room for more */
	uint64_t recognised;   /* stacks that the module knew, and did not copy */
	uint64_t verified;     /* stacks that it knew and copied all the same ... */
	uint64_t wrong_stacks; /* ... and that were another: never */
	bool exact;	       /* EXITED, nothing lost, no mismatch, model_pages == kernel_pages */
};

struct mf_pages;
struct massif_control;
struct massif_consumer;

/*
 * Opens the session. @err says what to do when it cannot: no device (load the module), permission,
 * another version (names both), a hook that does not work on this kernel (names it).
 */
int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err);

/*
 * The same over memory that looks like a ring (linux/massif.h): for tests, and for records that
 * were kept. The memory must outlive the session, which ends with mf_pages_end().
 */
int mf_pages_attach(const struct mf_pages_options *options, const struct massif_control *control,
		    struct massif_consumer *consumer, const uint8_t *data, struct mf_pages **pages,
		    struct mf_error *err);

/* Ends the session and frees everything, the processes included. NULL is allowed. */
void mf_pages_close(struct mf_pages *pages);

/* In a child that this process forked, and that goes on with the session in its place. 0 or -errno. */
int mf_pages_forked(struct mf_pages *pages, struct mf_error *err);

/* Enrols the calling process; for a child between fork and exec: async-signal-safe. 0 or -errno. */
int mf_pages_enrol(const struct mf_pages *pages);

/* The words for a failed mf_pages_enrol, in the parent. Returns @code. */
int mf_pages_enrol_error(int code, struct mf_error *err);

/*
 * Makes the running process @pid a member, and begins its profile with what it has mapped. @err says
 * what to do when it cannot: -ESRCH, -EPERM, -EBUSY, -EOPNOTSUPP (a thread of the kernel), ...
 */
int mf_pages_join(struct mf_pages *pages, pid_t pid, struct mf_error *err);

/* How many bytes of the ring waited to be read at most, and how many it has. */
void mf_pages_ring_use(const struct mf_pages *pages, uint64_t *most_unread, uint64_t *bytes);

/* The descriptor to poll for POLLIN; it belongs to the session and is close-on-exec. */
int mf_pages_fd(const struct mf_pages *pages);

/*
 * Takes in what the ring holds. Returns 0, or -errno when the stream of records makes no sense or
 * memory ran out; the session can then only be ended and closed.
 */
int mf_pages_drain(struct mf_pages *pages, struct mf_error *err);

/* Whether a process was enrolled and none is left, and the ring has been read to its end. */
bool mf_pages_done(const struct mf_pages *pages);

/* A process whose profile has ended and was not returned before, or NULL. */
struct mf_pages_process *mf_pages_next_ended(struct mf_pages *pages);

/* Frees a process that mf_pages_next_ended returned. */
void mf_pages_release(struct mf_pages *pages, struct mf_pages_process *process);

/* The profiled processes that have not been released, for looking at them while they run. */
size_t mf_pages_count(const struct mf_pages *pages);
const struct mf_pages_process *mf_pages_process(const struct mf_pages *pages, size_t index);

/* Drains once more and ends all profiles as they stand; mf_pages_next_ended then returns them. */
int mf_pages_end(struct mf_pages *pages, struct mf_error *err);

#endif
