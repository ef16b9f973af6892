// SPDX-License-Identifier: GPL-2.0
// A session of massif.ko and its ring of records.

#include "pages/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pages/hooktest.h"

/*
 * The module wakes us when this many bytes are unread: enough for a few stacks, or a thousand records. The sooner we
 * read a stack, the sooner it reaches the module's cache, and the fewer identical stacks are copied.
 */
#define WATERMARK_BYTES (64ull << 10)

/* Maximum total size in bytes of the cached stacks that are sent to the module in one call. */
#define QUEUE_BYTES (16u << 10)

/* During a drain, return the space of read records to the module whenever 1/16 of the ring has been read. */
#define PUBLISH_PART 16

/* Maximum size of a record. The longest real record is a STACK: MASSIF_STACK_MAX bytes and some registers. */
#define RECORD_MAX (1u << 20)

static int open_device(const char *device, struct mf_error *err)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);
	int code = -errno;

	if (fd >= 0)
		return fd;
	switch (code) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return mf_error_set(
			err, code,
			"%s does not exist: pages mode needs the kernel module; load it as root with "
			"'insmod massif.ko' ('modprobe massif' once installed)",
			device);
	case -EACCES:
	case -EPERM:
		return mf_error_set(
			err, code,
			"no permission for %s: run as root, or as a member of the group "
			"that owns it (massif, with the udev rule installed)",
			device);
	default:
		return mf_error_set(err, code, "cannot open %s: %s", device, strerror(-code));
	}
}

static int check_version(int fd, const char *device, uint64_t flags, struct mf_error *err)
{
	struct massif_query query = {.size = sizeof(query)};

	if (ioctl(fd, MASSIF_IOC_QUERY, &query)) {
		int code = -errno;

		return mf_error_set(
			err, code,
			"%s does not answer like a massif.ko with protocol %u (%s): load the massif.ko "
			"that was built with this massif-ctl",
			device, MASSIF_ABI, strerror(-code));
	}
	query.release[sizeof(query.release) - 1] = '\0';
	if (query.abi != MASSIF_ABI)
		return mf_error_set(err, -EPROTONOSUPPORT,
				    "the loaded massif.ko (%s) speaks protocol %u, this massif-ctl "
				    "protocol %u: load the massif.ko that was built with it",
				    query.release, query.abi, MASSIF_ABI);
	if (!(query.features & MASSIF_FEATURE_PAGES))
		return mf_error_set(err, -EOPNOTSUPP,
				    "the loaded massif.ko (%s) cannot count pages on this kernel",
				    query.release);
	if (flags & MASSIF_SETUP_RESIDENT && !(query.features & MASSIF_FEATURE_RESIDENT))
		return mf_error_set(err, -EOPNOTSUPP,
				    "the loaded massif.ko (%s) cannot find resident pages on this kernel, "
				    "which has no CONFIG_MMU_NOTIFIER",
				    query.release);
	return 0;
}

static int set_up(int fd, const struct mf_ring_setup *wanted, struct mf_error *err)
{
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.flags = wanted->flags,
		.ring_bytes = wanted->ring_bytes,
		.max_stack_bytes = wanted->stack_bytes,
		.known_bytes = wanted->known_bytes,
	};
	int code;

	if (!ioctl(fd, MASSIF_IOC_SETUP, &setup))
		return 0;
	code = -errno;
	setup.dead_hook[sizeof(setup.dead_hook) - 1] = '\0';
	switch (code) {
	case -ENODEV:
		return mf_error_set(err, code,
				    "massif.ko cannot observe this kernel: its hook '%s' does not "
				    "fire or cannot be armed; the kernel log may say why",
				    setup.dead_hook);
	case -EIO:
		return mf_error_set(err, code,
				    "massif.ko could not remove its hooks from the kernel when an earlier session "
				    "ended (see the kernel log): pages mode works again after a restart of the "
				    "machine");
	case -EPROTONOSUPPORT:
		return mf_error_set(err, code,
				    "the loaded massif.ko does not speak protocol %u: load the one "
				    "that was built with this massif-ctl",
				    MASSIF_ABI);
	case -EDQUOT:
		return mf_error_set(err, code,
				    "the limit on locked memory (ulimit -l, RLIMIT_MEMLOCK) is too low for a session of "
				    "massif.ko with %" PRIu64 " KiB in addition to the memory that this user has "
				    "already locked",
				    (wanted->ring_bytes + wanted->known_bytes) / 1024);
	case -ENOMEM:
		return mf_error_set(err, code, "no memory for a ring of %" PRIu64 " KiB",
				    wanted->ring_bytes / 1024);
	default:
		return mf_error_set(err, code, "massif.ko refused the session: %s",
				    strerror(-code));
	}
}

static void *map_part(int fd, size_t bytes, int prot, unsigned int page)
{
	void *address =
		mmap(NULL, bytes, prot, MAP_SHARED, fd, (off_t)page * sysconf(_SC_PAGESIZE));

	return address == MAP_FAILED ? NULL : address;
}

/* Maps the ring of the session. Returns 0 or -errno; on failure, mf_ring_close() unmaps the parts that were mapped. */
static int map_ring(struct mf_ring *ring, struct mf_error *err)
{
	ring->control = map_part(ring->fd, ring->page_bytes, PROT_READ, MASSIF_MMAP_CONTROL);
	ring->consumer = map_part(ring->fd, ring->page_bytes, PROT_READ | PROT_WRITE,
				  MASSIF_MMAP_CONSUMER);
	ring->data = map_part(ring->fd, ring->data_bytes, PROT_READ, MASSIF_MMAP_DATA);
	if (ring->control && ring->consumer && ring->data)
		return 0;
	return mf_error_set(err, -errno, "cannot map the ring of massif.ko: %s", strerror(errno));
}

int mf_ring_forked(struct mf_ring *ring, struct mf_error *err)
{
	/* The module does not allow forked processes to inherit the mappings. */
	return map_ring(ring, err);
}

int mf_ring_open(struct mf_ring *ring, const char *device, const struct mf_ring_setup *setup,
		 struct mf_error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd, code;

	*ring = (struct mf_ring){.fd = -1};
	fd = open_device(device, err);
	if (fd < 0)
		return fd;
	ring->fd = fd;
	ring->page_bytes = page;
	code = check_version(fd, device, setup->flags, err);
	if (!code)
		code = set_up(fd, setup, err);
	if (!code)
		code = mf_hooktest_run(fd, err);
	if (!code) {
		ring->data_bytes = setup->ring_bytes;
		code = map_ring(ring, err);
	}
	if (code) {
		mf_ring_close(ring);
		return code;
	}
	ring->consumer->watermark = WATERMARK_BYTES;
	if (setup->known_bytes)
		ring->queued = malloc(QUEUE_BYTES);
	return 0;
}

int mf_ring_attach(struct mf_ring *ring, const struct massif_control *control,
		   struct massif_consumer *consumer, const uint8_t *data, struct mf_error *err)
{
	if (control->abi != MASSIF_ABI || control->data_bytes < 64 ||
	    (control->data_bytes & (control->data_bytes - 1)))
		return mf_error_set(err, -EINVAL, "not a ring of protocol %u", MASSIF_ABI);
	*ring = (struct mf_ring){
		.fd = -1,
		.control = control,
		.consumer = consumer,
		.data = data,
		.data_bytes = control->data_bytes,
		.tail = consumer->tail,
		.published = consumer->tail,
	};
	return 0;
}

void mf_ring_close(struct mf_ring *ring)
{
	if (ring->fd >= 0) {
		if (ring->control)
			munmap((void *)ring->control, ring->page_bytes);
		if (ring->consumer)
			munmap(ring->consumer, ring->page_bytes);
		if (ring->data)
			munmap((void *)ring->data, ring->data_bytes);
		close(ring->fd);
	}
	free(ring->queued);
	*ring = (struct mf_ring){.fd = -1};
}

static bool check_name(const struct massif_record *record)
{
	const struct massif_rec_vma *vma = (const struct massif_rec_vma *)record;
	size_t room = record->size - offsetof(struct massif_rec_vma, name);

	return vma->name_len < room && !vma->name[vma->name_len] &&
	       strlen(vma->name) == vma->name_len;
}

/* Checks the path in an EXEC record. If the module sends no path, the record ends before the path field. */
static bool check_exec(const struct massif_record *record)
{
	const struct massif_rec_exec *exec = (const struct massif_rec_exec *)record;

	return record->size == sizeof(*exec) ||
	       memchr(exec->path, '\0', record->size - sizeof(*exec));
}

static bool check_args(const struct massif_record *record)
{
	const struct massif_rec_args *args = (const struct massif_rec_args *)record;

	return args->bytes <= record->size - sizeof(*args);
}

static bool check_stack(const struct massif_record *record)
{
	const struct massif_rec_stack *stack = (const struct massif_rec_stack *)record;
	uint64_t regs_end = sizeof(*stack) + 8ull * stack->nr_regs;

	return regs_end <= record->size && stack->data_off <= record->size &&
	       stack->bytes <= record->size - stack->data_off &&
	       (!stack->bytes || stack->data_off >= regs_end) &&
	       stack->sp + stack->bytes >= stack->sp;
}

/* The minimum size of each record type, and the function that checks the rest. */
static const struct {
	uint32_t size;
	bool (*check)(const struct massif_record *record);
} types[] = {
	[MASSIF_REC_LOST] = {sizeof(struct massif_rec_lost), NULL},
	[MASSIF_REC_ENROL] = {sizeof(struct massif_rec_enrol), NULL},
	[MASSIF_REC_FORK] = {sizeof(struct massif_rec_fork), NULL},
	[MASSIF_REC_EXEC] = {sizeof(struct massif_rec_exec), check_exec},
	[MASSIF_REC_EXIT] = {sizeof(struct massif_rec_exit), NULL},
	[MASSIF_REC_END] = {sizeof(struct massif_rec_end), NULL},
	[MASSIF_REC_RESYNC_BEGIN] = {sizeof(struct massif_rec_resync), NULL},
	[MASSIF_REC_VMA] = {offsetof(struct massif_rec_vma, name) + 1, check_name},
	[MASSIF_REC_RESYNC_END] = {sizeof(struct massif_rec_resync), NULL},
	[MASSIF_REC_MAP] = {sizeof(struct massif_rec_map), NULL},
	[MASSIF_REC_UNMAP] = {sizeof(struct massif_rec_map), NULL},
	[MASSIF_REC_NAME] = {offsetof(struct massif_rec_vma, name) + 1, check_name},
	[MASSIF_REC_STACK] = {sizeof(struct massif_rec_stack), check_stack},
	[MASSIF_REC_RESIDENT] = {sizeof(struct massif_rec_resident), NULL},
	[MASSIF_REC_MOVE] = {sizeof(struct massif_rec_move), NULL},
	[MASSIF_REC_ATTACH] = {sizeof(struct massif_rec_enrol), NULL},
	[MASSIF_REC_ARGS] = {sizeof(struct massif_rec_args), check_args},
};

static int bad(const struct mf_ring *ring, const struct massif_record *record, const char *what,
	       struct mf_error *err)
{
	return mf_error_set(
		err, -EPROTO,
		"the ring of massif.ko is invalid at position %" PRIu64
		" (type %u, size %u): %s; massif.ko and massif-ctl may be of different versions",
		ring->tail, record->type, record->size, what);
}

int mf_ring_next(struct mf_ring *ring, const struct massif_record **record, uint64_t *gap,
		 struct mf_error *err)
{
	uint64_t head = __atomic_load_n(&ring->control->head, __ATOMIC_ACQUIRE);

	*record = NULL;
	*gap = 0;
	if (head - ring->tail > ring->most_unread)
		ring->most_unread = head - ring->tail;
	while (ring->tail != head) {
		uint64_t position = ring->tail & (ring->data_bytes - 1);
		uint64_t unread = head - ring->tail, room = ring->data_bytes - position;
		const struct massif_record *next = (const void *)(ring->data + position);

		if (unread > ring->data_bytes || unread < 8 || (head | ring->tail) & 7)
			return mf_error_set(err, -EPROTO,
					    "the ring of massif.ko is invalid: head %" PRIu64
					    ", tail %" PRIu64 " of %" PRIu64 " bytes",
					    head, ring->tail, ring->data_bytes);
		if (next->size < 8 || next->size & 7)
			return bad(ring, next, "no record has this size", err);
		if (next->size > unread || next->size > room)
			return bad(ring, next, "the record is longer than what was written", err);
		if (next->type == MASSIF_REC_PAD) {
			ring->tail += next->size;
			continue;
		}
		if (next->size > RECORD_MAX || next->size < sizeof(*next))
			return bad(ring, next, "no record has this size", err);
		if (next->type < sizeof(types) / sizeof(types[0]) && types[next->type].size) {
			if (next->size < types[next->type].size)
				return bad(ring, next, "the record is too short for its type", err);
			if (types[next->type].check && !types[next->type].check(next))
				return bad(ring, next, "the lengths in the record contradict each other", err);
		}
		/*
		 * Also return records of unknown types, which a newer module may write: they have sequence numbers,
		 * too.
		 */
		if (ring->next_seq && next->seq > ring->next_seq)
			*gap = next->seq - ring->next_seq;
		*record = next;
		return 0;
	}
	return 0;
}

void mf_ring_advance(struct mf_ring *ring, const struct massif_record *record)
{
	ring->tail += record->size;
	ring->next_seq = record->seq + 1;
	if (ring->tail - ring->published >= ring->data_bytes / PUBLISH_PART)
		mf_ring_publish(ring);
}

void mf_ring_publish(struct mf_ring *ring)
{
	__atomic_store_n(&ring->consumer->tail, ring->tail, __ATOMIC_RELEASE);
	ring->published = ring->tail;
}

void mf_ring_send_queued(struct mf_ring *ring)
{
	struct massif_stack_cache known = {
		.size = sizeof(known),
		.stacks = (uintptr_t)ring->queued,
		.bytes = ring->queued_bytes,
	};

	/*
	 * Ignore errors: if the module has no memory for a stack, it will copy the stack again, and we will send it
	 * again.
	 */
	if (ring->queued_bytes)
		ioctl(ring->fd, MASSIF_IOC_KNOWN, &known);
	ring->queued_bytes = 0;
}

void mf_ring_queue_stack(struct mf_ring *ring, const struct massif_stack_cache_stack *stack)
{
	if (!ring->queued || stack->size > QUEUE_BYTES)
		return;
	if (stack->size > QUEUE_BYTES - ring->queued_bytes)
		mf_ring_send_queued(ring);
	memcpy(ring->queued + ring->queued_bytes, stack, stack->size);
	ring->queued_bytes += stack->size;
}

int mf_ring_enrol(const struct mf_ring *ring)
{
	struct massif_enrol enrol = {.size = sizeof(enrol)};

	return ioctl(ring->fd, MASSIF_IOC_ENROL, &enrol) ? -errno : 0;
}

int mf_ring_join(const struct mf_ring *ring, pid_t pid)
{
	struct massif_attach attach = {.size = sizeof(attach), .pid = pid};

	return ioctl(ring->fd, MASSIF_IOC_ATTACH, &attach) ? -errno : 0;
}

int mf_ring_resync(const struct mf_ring *ring)
{
	struct massif_resync resync = {.size = sizeof(resync)};

	if (ring->fd < 0)
		return 0;
	return ioctl(ring->fd, MASSIF_IOC_RESYNC, &resync) ? -errno : (int)resync.remaining;
}

bool mf_ring_hung_up(const struct mf_ring *ring)
{
	struct pollfd poller = {.fd = ring->fd, .events = POLLIN};

	return ring->fd >= 0 && poll(&poller, 1, 0) > 0 && poller.revents & POLLHUP;
}
