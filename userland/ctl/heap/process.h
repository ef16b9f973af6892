/* SPDX-License-Identifier: GPL-2.0 */
/* A process that heap mode profiles: the memory that it shares with us, and the file at its end. */
#ifndef MASSIF_CTL_HEAP_PROCESS_H
#define MASSIF_CTL_HEAP_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "filter_server.h"
#include "ctl/control/server.h"
#include "mapped.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "model/store.h"

struct mf_heap_process {
	struct mf_heap_process *next; /* of a family */
	const struct mf_options *options;
	struct mf_store store;
	int memory;	/* the store's descriptor */
	uint64_t budget; /* what it may take of address space; 0: any. All copies take the same */
	const struct mf_heap_process *source; /* whose store says what this one would; NULL: it has one */
	uint32_t went_on; /* of that store, when it became so */
	pid_t pid;	/* 0: not known yet */
	char *cmd;	/* as the file shows it; owned */
	char title[64];	/* of that, what messages show */
	struct mf_output_name name; /* of the program */
	bool launched;	/* massif-ctl started it, not the program */
	bool forked;	/* it is still the program that its parent is */
	bool executes;	/* it is about to be another one */
	bool departs;	/* it is another one, which has not joined yet */
	bool cut_off;	/* its profile ends before the program came to an end of its own */
	bool without;	/* it could not take its profile over, and has none */
	struct mf_mapped mapped; /* of the store's objects */
	struct mf_filter_server *consultant; /* NULL: every context counts */
	unsigned int n_xtrees; /* with a number in their names, that its own commands have led to */

	/* Of those that joined. */
	int pidfd, connection; /* -1: none */
	bool ended;
	uint64_t end_ns; /* CLOCK_MONOTONIC when that was noticed; 0: it is now */
	int watch_ms;	  /* how often to see whether it is still the same program; -1: not */
	int64_t watch_at; /* as mf_timekeeper_now() */
};

/*
 * Makes one with an empty profile, for process @pid or for one that is to be started (0), whose limit of
 * address space is ours. @path is that of its program; it and @cmd are copied. Returns 0 or -errno.
 */
int mf_heap_process_create(const struct mf_options *options, const char *path, const char *cmd,
			   pid_t pid, struct mf_heap_process **process, struct mf_error *err);

/*
 * Makes one of process @pid, which runs and has its session in the file @memory, which it takes over; -1: the
 * caller fills the store. Returns 0 or -errno; @memory stays the caller's in any case of an error.
 */
int mf_heap_process_adopt(const struct mf_options *options, const char *path, const char *cmd, pid_t pid,
			  int memory, struct mf_heap_process **process, struct mf_error *err);

/* This process aggregates it from now on. Returns 0 or -errno. */
int mf_heap_process_go_on(struct mf_heap_process *process, struct mf_error *err);
void mf_heap_process_destroy(struct mf_heap_process *process); /* NULL is allowed */

/*
 * A child that @from will fork. As long as @from, whose program is at rest, does not change its profile,
 * that is the child's, too. Returns 0 or -ENOMEM.
 */
int mf_heap_process_expect(const struct mf_heap_process *from, struct mf_heap_process **process,
			   struct mf_error *err);

/* Gives it a copy, without what only a process needs that goes on where @lives is false. */
int mf_heap_process_copy(struct mf_heap_process *process, bool lives, struct mf_error *err);

/* Gives it that of its source, which needs it no more. */
int mf_heap_process_inherit(struct mf_heap_process *process, struct mf_heap_process *source,
			    struct mf_error *err);

/* It has a pid and will run: whoever answers its questions begins. Says what goes wrong. */
void mf_heap_process_start(struct mf_heap_process *process);

/*
 * Writes its file and says what is wrong with the profile. Also of one that has not ended: what it
 * does meanwhile may be in it or not.
 */
void mf_heap_process_write(struct mf_heap_process *process);

/* The process, or the program that it was, has ended just now: its profile's time ends here. */
void mf_heap_process_note_end(struct mf_heap_process *process);

/* Opens the files that the process has mapped since. Returns whether there were any. */
bool mf_heap_process_look(struct mf_heap_process *process);

/* What struct mf_control_ops asks for. */
void mf_heap_process_list(const struct mf_heap_process *process, FILE *out);
int mf_heap_process_snapshot(const struct mf_heap_process *process, enum mf_control_verb verb,
			     FILE *out, struct mf_error *err);

#endif
