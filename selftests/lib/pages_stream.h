/* SPDX-License-Identifier: GPL-2.0 */
/* Writes records as massif.ko does, into memory with the layout of its ring. */
#ifndef MASSIF_SELFTESTS_PAGES_STREAM_H
#define MASSIF_SELFTESTS_PAGES_STREAM_H

#include <stdint.h>

#include <linux/massif.h>

#define STREAM_BYTES (256u << 10)
#define STREAM_PAGE  4096ull

struct stream {
	struct massif_control control;
	struct massif_consumer consumer;
	uint8_t data[STREAM_BYTES] __attribute__((aligned(8)));
	uint64_t seq;
	uint32_t capture; /* id of the stack that the next records refer to; 0: no stack */
	uint32_t tid;
	uint32_t flags;
};

/* Places the first record at @position, which must be a multiple of 8. Records wrap at the end of the ring. */
void stream_init(struct stream *stream, uint64_t position);

/*
 * Each function appends a record and returns it. @total_pages becomes the record's total_vm, if it has one. The
 * record's time in milliseconds equals its sequence number.
 */
struct massif_record *stream_enrol(struct stream *stream, uint32_t target, uint32_t pid);
struct massif_record *stream_exec(struct stream *stream, uint32_t target, uint32_t old_target,
				  uint32_t pid, const char *comm);
struct massif_record *stream_fork(struct stream *stream, uint32_t target, uint32_t child,
				  uint32_t child_pid);
struct massif_record *stream_exit(struct stream *stream, uint32_t target, uint32_t pid,
				  uint64_t total_pages);
struct massif_record *stream_end(struct stream *stream, uint32_t target, uint32_t pid,
				 uint32_t reason);
struct massif_record *stream_lost(struct stream *stream, uint32_t target, uint64_t count,
				  uint32_t reason);
struct massif_record *stream_map(struct stream *stream, uint32_t target, uint64_t page,
				 uint64_t n_pages, uint32_t kind, uint64_t total_pages);
struct massif_record *stream_unmap(struct stream *stream, uint32_t target, uint64_t page,
				   uint64_t n_pages, uint64_t total_pages);
/*
 * Writes a RESIDENT record that changes only the number of anonymous pages. @resident is that number after the change.
 */
struct massif_record *stream_resident(struct stream *stream, uint32_t target, uint32_t cause, uint64_t page,
				      uint64_t n_pages, int32_t change, uint64_t resident);
struct massif_record *stream_name(struct stream *stream, uint32_t target, uint64_t page,
				  uint64_t n_pages, const char *name);
struct massif_record *stream_stack(struct stream *stream, uint32_t target, uint64_t ip,
				   uint32_t n_bytes);

/*
 * Appends a complete resync, with a VMA record for each element of @pages. An element is a first page and a number of
 * pages; a number of 0 ends the array.
 */
void stream_resync(struct stream *stream, uint32_t target, uint32_t reason, uint64_t total_pages,
		   const uint64_t (*pages)[2]);

#endif
