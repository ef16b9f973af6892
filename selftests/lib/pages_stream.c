// SPDX-License-Identifier: GPL-2.0
// Writes records as massif.ko does, into memory with the layout of its ring.

#include "selftests/lib/pages_stream.h"

#include <string.h>

void stream_init(struct stream *stream, uint64_t position)
{
	memset(stream, 0, sizeof(*stream));
	stream->control.abi = MASSIF_ABI;
	stream->control.page_bytes = STREAM_PAGE;
	stream->control.data_bytes = STREAM_BYTES;
	stream->control.head = position;
	stream->consumer.tail = position;
	stream->tid = 100;
}

static void *put(struct stream *stream, uint32_t type, size_t size, uint32_t target,
		 uint64_t total_pages)
{
	uint64_t position = stream->control.head % STREAM_BYTES;
	struct massif_record *record = (void *)(stream->data + position);

	size = (size + 7) & ~7ull;
	if (size > STREAM_BYTES - position) {
		record->type = MASSIF_REC_PAD;
		record->size = (uint32_t)(STREAM_BYTES - position);
		stream->control.head += record->size;
		record = (void *)stream->data;
	}
	memset(record, 0, size);
	*record = (struct massif_record){
		.type = type,
		.size = (uint32_t)size,
		.seq = ++stream->seq,
		.time_ns = stream->seq * 1000000,
		.total_vm = total_pages,
		.target = target,
		.tid = stream->tid,
		.capture = stream->capture,
		.flags = stream->flags,
	};
	stream->control.head += size;
	return record;
}

struct massif_record *stream_enrol(struct stream *stream, uint32_t target, uint32_t pid)
{
	struct massif_rec_enrol *record = put(stream, MASSIF_REC_ENROL, sizeof(*record), target, 0);

	record->tgid = pid;
	return &record->h;
}

struct massif_record *stream_exec(struct stream *stream, uint32_t target, uint32_t old_target,
				  uint32_t pid, const char *comm)
{
	struct massif_rec_exec *record = put(stream, MASSIF_REC_EXEC, sizeof(*record), target, 0);

	record->old_target = old_target;
	record->tgid = pid;
	strncpy(record->comm, comm, sizeof(record->comm) - 1);
	return &record->h;
}

struct massif_record *stream_fork(struct stream *stream, uint32_t target, uint32_t child,
				  uint32_t child_pid)
{
	struct massif_rec_fork *record = put(stream, MASSIF_REC_FORK, sizeof(*record), target, 0);

	record->child = child;
	record->child_tgid = child_pid;
	return &record->h;
}

struct massif_record *stream_exit(struct stream *stream, uint32_t target, uint32_t pid,
				  uint64_t total_pages)
{
	struct massif_rec_exit *record =
		put(stream, MASSIF_REC_EXIT, sizeof(*record), target, total_pages);

	record->tgid = pid;
	return &record->h;
}

struct massif_record *stream_end(struct stream *stream, uint32_t target, uint32_t pid,
				 uint32_t reason)
{
	struct massif_rec_end *record = put(stream, MASSIF_REC_END, sizeof(*record), target, 0);

	record->tgid = pid;
	record->reason = reason;
	return &record->h;
}

struct massif_record *stream_lost(struct stream *stream, uint32_t target, uint64_t count,
				  uint32_t reason)
{
	struct massif_rec_lost *record = put(stream, MASSIF_REC_LOST, sizeof(*record), target, 0);

	record->count = count;
	record->reason = reason;
	return &record->h;
}

struct massif_record *stream_map(struct stream *stream, uint32_t target, uint64_t page,
				 uint64_t n_pages, uint32_t kind, uint64_t total_pages)
{
	struct massif_rec_map *record =
		put(stream, MASSIF_REC_MAP, sizeof(*record), target, total_pages);

	record->addr = page * STREAM_PAGE;
	record->len = n_pages * STREAM_PAGE;
	record->kind = kind;
	return &record->h;
}

struct massif_record *stream_unmap(struct stream *stream, uint32_t target, uint64_t page,
				   uint64_t n_pages, uint64_t total_pages)
{
	struct massif_rec_map *record =
		put(stream, MASSIF_REC_UNMAP, sizeof(*record), target, total_pages);

	record->h.capture = 0; /* the module copies no stack for UNMAP records */
	record->addr = page * STREAM_PAGE;
	record->len = n_pages * STREAM_PAGE;
	return &record->h;
}

struct massif_record *stream_resident(struct stream *stream, uint32_t target, uint32_t cause, uint64_t page,
				      uint64_t n_pages, int32_t change, uint64_t resident)
{
	struct massif_rec_resident *record =
		put(stream, MASSIF_REC_RESIDENT, sizeof(*record), target, 0);

	record->addr = page * STREAM_PAGE;
	record->len = n_pages * STREAM_PAGE;
	record->cause = cause;
	record->change[MASSIF_RSS_ANON] = change;
	record->rss[MASSIF_RSS_ANON] = resident;
	return &record->h;
}

static struct massif_record *put_vma(struct stream *stream, uint32_t type, uint32_t target,
				     uint64_t page, uint64_t n_pages, const char *name)
{
	struct massif_rec_vma *record =
		put(stream, type, sizeof(*record) + strlen(name) + 1, target, 0);

	record->addr = page * STREAM_PAGE;
	record->len = n_pages * STREAM_PAGE;
	record->prot = name[0] == '/' ? MASSIF_PROT_FILE : 0;
	record->name_len = (uint32_t)strlen(name);
	memcpy(record->name, name, record->name_len);
	return &record->h;
}

struct massif_record *stream_name(struct stream *stream, uint32_t target, uint64_t page,
				  uint64_t n_pages, const char *name)
{
	return put_vma(stream, MASSIF_REC_NAME, target, page, n_pages, name);
}

struct massif_record *stream_stack(struct stream *stream, uint32_t target, uint64_t ip,
				   uint32_t n_bytes)
{
	size_t regs = ip ? MASSIF_X86_64_REGS : 0;
	struct massif_rec_stack *record =
		put(stream, MASSIF_REC_STACK, sizeof(*record) + regs * 8 + n_bytes, target, 0);

	record->arch = MASSIF_ARCH_X86_64;
	record->nr_regs = (uint32_t)regs;
	record->stack_flags = ip ? 0 : MASSIF_STACK_GONE;
	record->data_off = (uint32_t)(sizeof(*record) + regs * 8);
	record->sp = 0x7fff0000;
	record->bytes = n_bytes;
	if (ip)
		record->regs[regs - 1] = ip;
	return &record->h;
}

void stream_resync(struct stream *stream, uint32_t target, uint32_t reason, uint64_t total_pages,
		   const uint64_t (*pages)[2])
{
	struct massif_rec_resync *begin, *end;
	uint32_t count = 0;

	while (pages[count][1])
		count++;
	begin = put(stream, MASSIF_REC_RESYNC_BEGIN, sizeof(*begin), target, total_pages);
	begin->end = UINT64_MAX;
	begin->reason = reason;
	begin->part = MASSIF_RESYNC_FIRST | MASSIF_RESYNC_LAST;
	begin->count = count;
	for (uint32_t i = 0; i < count; i++)
		put_vma(stream, MASSIF_REC_VMA, target, pages[i][0], pages[i][1], "");
	end = put(stream, MASSIF_REC_RESYNC_END, sizeof(*end), target, total_pages);
	end->end = UINT64_MAX;
	end->reason = reason;
	end->part = begin->part;
	end->count = count;
}
