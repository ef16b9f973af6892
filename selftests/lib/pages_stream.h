/* SPDX-License-Identifier: GPL-2.0 */
/* Writes what massif.ko would write: records, into memory that looks like its ring. */
#ifndef SELFTESTS_PAGES_STREAM_H
#define SELFTESTS_PAGES_STREAM_H

#include <stdint.h>

#include <linux/massif.h>

#define STREAM_BYTES (256u << 10)
#define STREAM_PAGE  4096ull

struct stream {
	struct massif_control control;
	struct massif_consumer consumer;
	uint8_t data[STREAM_BYTES] __attribute__((aligned(8)));
	uint64_t seq;
	uint32_t capture; /* of the records that follow; 0: none */
	uint32_t tid;
	uint32_t flags;
};

/* Its first record will be at @position, a multiple of 8, so that it can be made to wrap. */
void stream_init(struct stream *stream, uint64_t position);

/*
 * Each adds one record, with @total_pages as its total_vm where it has one, and returns where it
 * is. Its time is its seq in milliseconds.
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
/* Of anonymous pages only; @resident of them with it. */
struct massif_record *stream_resident(struct stream *stream, uint32_t target, uint32_t cause, uint64_t page,
				      uint64_t n_pages, int32_t change, uint64_t resident);
struct massif_record *stream_name(struct stream *stream, uint32_t target, uint64_t page,
				  uint64_t n_pages, const char *name);
struct massif_record *stream_stack(struct stream *stream, uint32_t target, uint64_t ip,
				   uint32_t n_bytes);

/* A whole resync: one VMA of each pair of page and number of pages, up to a number of 0. */
void stream_resync(struct stream *stream, uint32_t target, uint32_t reason, uint64_t total_pages,
		   const uint64_t (*pages)[2]);

#endif
