/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How massif-ctl attach --heap and the shim that it loads into a running process talk to each other: a struct in the
 * shim's data.
 *
 * massif-ctl finds the struct in the file of the shim by its magic bytes, fills in the request and loads that copy of
 * the file. The shim's constructor prepares the session and fills in the answer, but changes nothing outside the shim.
 * What is to change in the process is a list of words: massif-ctl writes them all while the process is stopped, and
 * writes the old ones when it detaches.
 *
 * The shim stays loaded, because the program may have stored addresses of its functions. The next attach uses the same
 * copy, if no thread is in its code: massif-ctl clears the variables that it keeps for each thread, fills in another
 * request and calls @again.
 */
#ifndef MASSIF_PROTOCOL_LATE_H
#define MASSIF_PROTOCOL_LATE_H

#include <stdint.h>

#define MF_LATE_MAGIC	   "massif attach 1" /* with its NUL, sixteen bytes */
#define MF_LATE_REASON_MAX 256u

/* A word of the process: an entry of a global offset table, a pointer in data, or code. */
struct mf_late_word {
	uint64_t address;
	uint64_t old, fresh; /* its value before the attach, and while the process is profiled */
	/*
	 * If the dynamic linker has not set the entry yet, the value that it will set when the function is first called;
	 * otherwise the same as @old.
	 */
	uint64_t bound;
};

struct mf_late {
	char magic[16];

	/* The request. */
	uint32_t wanted;     /* 1: this copy of the shim is loaded by massif-ctl attach */
	uint32_t restricted; /* the process has restricted its system calls (seccomp) */
	int32_t memory;	     /* descriptor of the session memory in the process, which the shim closes */
	uint32_t pad;
	uint64_t first_thread; /* thread pointer of the process's initial thread */

	/* The answer. */
	int32_t code; /* 0, or -errno; 1 while there is no answer */
	uint32_t n_words;
	uint64_t words;	  /* address of the struct mf_late_word[] */
	uint64_t active;  /* address of the word that makes the shim count, 0 as long as it does not */
	uint64_t counts;  /* the value for that word */
	uint64_t objects; /* address of the dynamic linker's struct r_debug */
	uint64_t n_objects; /* the number of objects in its list */
	uint64_t again;	    /* address of the function, without arguments, that starts the shim once more */
	int64_t thread_offset; /* where its variables for each thread are, from the thread pointer; a number of @thread_bytes */
	uint64_t thread_bytes;
	char reason[MF_LATE_REASON_MAX]; /* why the process cannot be profiled, if @code is not 0 */
};

/* The greatest number of words that one attach may change. */
#define MF_LATE_WORDS_MAX 65536u

#endif
