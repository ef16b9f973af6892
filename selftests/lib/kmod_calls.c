// SPDX-License-Identifier: GPL-2.0
// Calls for kmod_fuzz, each encoded in four bytes: system calls to the module, and events that the module follows.

#include "selftests/lib/kmod_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/massif.h>

#define PAGE  4096UL
#define SLOTS 4 /* maximum number of devices that a process keeps open, and maximum number of mappings that it keeps */

/* The state of the process that executes the calls. */
static struct {
	int devices[SLOTS];
	char *maps[SLOTS];
	size_t sizes[SLOTS];
	char *rings[SLOTS];
	size_t ring_sizes[SLOTS];
	char *page, *bad; /* a valid page, and an address followed by an unmapped page */
	pid_t victim;	  /* another process of the same user */
} own;

static uint64_t edge(uint8_t choice)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 7, 8, 16, 255, 256, 4095, 4096, 4097, 16384, 65535, 65536, 1 << 20, 64 << 20, (64 << 20) + 1,
		0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 0x7ffffffff000, 0x800000000000, 1ull << 62, 1ull << 63,
		UINT64_MAX - 7, UINT64_MAX - 1, UINT64_MAX,
	};

	return edges[choice % (sizeof(edges) / sizeof(edges[0]))];
}

/* Returns an address for an argument of @size bytes, usually in valid memory. */
static void *place_of(uint8_t choice, const void *argument, size_t size)
{
	char *at = own.page;

	switch (choice) {
	case 0xff:
		return NULL;
	case 0xfe:
		return own.bad - size / 2;
	case 0xfd:
		return own.bad;
	case 0xfc:
		return (void *)0xffff888000000000ul;
	case 0xfb:
		return own.rings[0] ? own.rings[0] : own.bad;
	case 0xfa:
		at += 3;
		break;
	case 0xf9:
		at = own.bad - size;
		break;
	}
	memcpy(at, argument, size);
	return at;
}

static int call_device(const struct kmod_call *call, unsigned long command, const void *argument, size_t size, uint8_t place)
{
	return ioctl(own.devices[call->a % SLOTS], command, place_of(place, argument, size));
}

static void do_open(const struct kmod_call *call)
{
	static const int flags[] = { O_RDWR, O_RDWR | O_CLOEXEC, O_RDONLY, O_WRONLY, O_RDWR | O_NONBLOCK, O_PATH };
	int *slot = &own.devices[call->a % SLOTS];

	if (*slot >= 0)
		close(*slot);
	*slot = open(MASSIF_DEVICE, flags[call->b < 0xe0 ? 0 : call->b % 6]);
}

static void do_close(const struct kmod_call *call)
{
	int *slot = &own.devices[call->a % SLOTS];

	if (*slot >= 0)
		close(*slot);
	*slot = -1;
}

static void do_query(const struct kmod_call *call)
{
	struct massif_query query = { .size = call->b < 0xc0 ? sizeof(query) : call->b, .flags = call->c >> 6 == 3 };

	call_device(call, MASSIF_IOC_QUERY, &query, sizeof(query), call->c);
}

static void do_setup(const struct kmod_call *call)
{
	static const uint32_t stacks[] = { 4096, 0, 256, 16384, MASSIF_STACK_MAX, 255, MASSIF_STACK_MAX + 8, 260 };
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = call->c == 0x80 ? 1 : MASSIF_ABI,
		.flags = call->b & 3,
		.ring_bytes = call->b >> 6 == 3 ? edge(call->c) : 64ull << 10 << (call->b >> 6),
		.max_stack_bytes = stacks[call->c & 7],
		.known_bytes = call->b & 4 ? (uint32_t)edge(call->c >> 3) : call->b & 8 ? 64 << 10 : 0,
	};

	if (call->b == 0x7f)
		setup.flags = edge(call->c);
	call_device(call, MASSIF_IOC_SETUP, &setup, sizeof(setup), call->b & 0x30 ? 0 : call->c);
}

static void do_enrol(const struct kmod_call *call)
{
	struct massif_enrol enrol = { .size = sizeof(enrol), .flags = call->b == 0xff };

	call_device(call, MASSIF_IOC_ENROL, &enrol, sizeof(enrol), call->c);
}

static void do_attach(const struct kmod_call *call)
{
	struct massif_attach attach = { .size = sizeof(attach) };

	switch (call->b & 7) {
	case 0: attach.pid = 1; break;
	case 1: attach.pid = getpid(); break;
	case 2: attach.pid = getppid(); break;
	case 3: attach.pid = (int32_t)edge(call->c); break;
	default: attach.pid = own.victim; break;
	}
	call_device(call, MASSIF_IOC_ATTACH, &attach, sizeof(attach), call->c & 1 ? call->c : 0);
}

static void do_resync(const struct kmod_call *call)
{
	struct massif_resync resync = { .size = sizeof(resync), .flags = call->b & 3, .target = call->b >> 5 };

	call_device(call, MASSIF_IOC_RESYNC, &resync, sizeof(resync), call->c);
}

static void do_status(const struct kmod_call *call)
{
	struct massif_status status = { .size = sizeof(status), .flags = call->b == 0xff };

	call_device(call, MASSIF_IOC_STATUS, &status, sizeof(status), call->c);
}

static void do_test(const struct kmod_call *call)
{
	struct massif_test test = { .size = sizeof(test), .flags = call->b & 7 };

	call_device(call, MASSIF_IOC_TEST, &test, sizeof(test), call->c);
}

static void do_hook(const struct kmod_call *call)
{
	struct massif_hook_info info = {
		.size = sizeof(info),
		.index = call->b < 0xf0 ? call->b & 63 : (uint32_t)edge(call->b),
	};

	call_device(call, MASSIF_IOC_HOOK, &info, sizeof(info), call->c);
}

/*
 * Adds one to eight stacks, each with up to eleven words, to the module's stack cache. One field of the last stack, or
 * of the argument of the ioctl, may deliberately be invalid.
 */
static void do_known(const struct kmod_call *call)
{
	uint64_t buffer[512] = { 0 };
	struct massif_stack_cache_stack *stack = (void *)buffer;
	size_t at = 0;
	struct massif_stack_cache known = { .size = sizeof(known), .stacks = (uintptr_t)buffer };

	for (unsigned int i = 0; i <= (call->b & 7u); i++) {
		uint32_t regs = (call->b >> 3 & 3) + i % 2, slots = call->b >> 5;

		stack = (void *)((char *)buffer + at);
		*stack = (struct massif_stack_cache_stack){
			.size = (uint32_t)(sizeof(*stack) + (regs + slots) * sizeof(stack->words[0])),
			.target = 1 + (call->c & 1),
			.number = 1 + i,
			.code_gen = call->c >> 1 & 1,
			.pc = 0x1000,
			.sp = 0x2000 + 8 * i,
			.nr_regs = regs,
			.nr_slots = slots,
		};
		for (uint32_t j = 0; j < regs + slots; j++)
			stack->words[j] = (struct massif_stack_cache_word){
				.value = j, .place = j < regs ? j : 8 * (j - regs),
			};
		at += stack->size;
	}
	known.bytes = (uint32_t)at;
	switch (call->c >> 3) {
	case 1: stack->size = (uint32_t)edge(call->b); break;
	case 2: stack->nr_slots = (uint32_t)edge(call->b); break;
	case 3: stack->nr_regs = (uint32_t)edge(call->b); break;
	case 4: stack->number = 0; break;
	case 5: stack->words[0].place = (uint32_t)edge(call->b); break;
	case 6: known.bytes = (uint32_t)edge(call->b); break;
	case 7: known.stacks = edge(call->b); break;
	case 8: stack->words[0].__pad = 1; break;
	}
	call_device(call, MASSIF_IOC_KNOWN, &known, sizeof(known), call->c >= 0xf9 ? call->c : 0);
}

static void do_any_ioctl(const struct kmod_call *call)
{
	uint64_t words[32];
	size_t size = call->c & 0xff;

	for (size_t i = 0; i < 32; i++)
		words[i] = edge((uint8_t)(call->b + i));
	memcpy(words, &(uint32_t){ (uint32_t)size }, 4);
	call_device(call, _IOC(call->b >> 6, 'm', 0xa0 + (call->b & 15), size), words, sizeof(words),
		    call->b & 0x30 ? 0 : 0xfe);
}

static void do_map_device(const struct kmod_call *call)
{
	static const int protections[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE };
	char **map = &own.rings[call->a >> 4 & 3];
	size_t size = PAGE << (call->b & 7), *room = &own.ring_sizes[call->a >> 4 & 3];
	void *at;

	if (*map)
		munmap(*map, *room);
	at = mmap(NULL, size, protections[call->b >> 5 < 5 ? call->b >> 5 : 0], call->c & 0x80 ? MAP_PRIVATE : MAP_SHARED,
		  own.devices[call->a % SLOTS], (off_t)(call->c & 0x40 ? edge(call->c) & ~(PAGE - 1) : PAGE * (call->c & 3)));
	*map = at == MAP_FAILED ? NULL : at;
	*room = size;
}

static void do_change_ring(const struct kmod_call *call)
{
	char **map = &own.rings[call->a & 3], *at = *map;
	size_t *room = &own.ring_sizes[call->a & 3];
	void *moved;

	if (!at)
		return;
	switch (call->b % 6) {
	case 0:
		mprotect(at, *room, call->c & 7);
		break;
	case 1:
		moved = mremap(at, *room, PAGE << (call->c & 7), MREMAP_MAYMOVE);
		if (moved != MAP_FAILED) {
			*map = moved;
			*room = PAGE << (call->c & 7);
		}
		break;
	case 2:
		madvise(at, *room, call->c % 26);
		break;
	case 3:
		munmap(at, PAGE);
		break;
	case 4:
		/*
		 * Write two words to the start of the mapping. If it is a mapping of the ring's consumer page, they
		 * are its tail and its watermark. The words may be valid values, like those that a consumer writes, or
		 * invalid ones. Write them with a system call, which returns an error if the memory is not writable; a
		 * direct store would kill the process.
		 */
		{
			uint64_t words[2] = { edge(call->c), edge((uint8_t)(call->c + call->b)) };
			int pipes[2];

			if (pipe(pipes))
				break;
			if (write(pipes[1], words, sizeof(words)) > 0 && read(pipes[0], at, sizeof(words)) < 0)
				errno = 0;
			close(pipes[0]);
			close(pipes[1]);
		}
		break;
	case 5:
		remap_file_pages(at, PAGE, 0, call->c & 7, 0);
		break;
	}
}

static void do_map(const struct kmod_call *call)
{
	unsigned int i = call->a % SLOTS;
	size_t size = PAGE * (1 + call->b % 32);
	int flags = (call->c & 1 ? MAP_SHARED : MAP_PRIVATE) | (call->c & 2 ? MAP_POPULATE : 0) | MAP_ANONYMOUS;
	int fd = -1;
	void *at;

	if (call->c & 4) {
		fd = open("/bin/true", O_RDONLY);
		flags = (flags & ~(MAP_ANONYMOUS | MAP_SHARED)) | MAP_PRIVATE;
	}
	if (call->c & 8 && own.maps[i])
		flags |= MAP_FIXED;
	else if (own.maps[i])
		munmap(own.maps[i], own.sizes[i]);
	at = mmap(flags & MAP_FIXED ? own.maps[i] : NULL, size, call->c & 16 ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE,
		  flags, fd, 0);
	own.maps[i] = at == MAP_FAILED ? NULL : at;
	own.sizes[i] = size;
	if (fd >= 0)
		close(fd);
}

static void do_change_map(const struct kmod_call *call)
{
	unsigned int i = call->a % SLOTS;
	char *at = own.maps[i];
	size_t size = PAGE * (1 + call->b % 48);
	void *moved;

	if (!at)
		return;
	switch (call->c % 8) {
	case 0:
		munmap(at + PAGE * (call->b % 4), PAGE);
		break;
	case 1:
	case 2:
		moved = mremap(at, own.sizes[i], size, call->c & 8 ? 0 : MREMAP_MAYMOVE);
		if (moved != MAP_FAILED) {
			own.maps[i] = moved;
			own.sizes[i] = size;
		}
		break;
	case 3:
		mprotect(at + PAGE * (call->b % 4), PAGE, call->b & 7);
		break;
	case 4:
		madvise(at, own.sizes[i], call->b % 26);
		break;
	case 5:
		mlock(at, own.sizes[i]);
		break;
	case 6:
		/* Let the kernel write to the mapping, so that a bad address causes an error instead of a signal. */
		if (getrandom(at, own.sizes[i], 0) < 0)
			errno = 0;
		break;
	case 7:
		mremap(at, 0, size, MREMAP_MAYMOVE);
		break;
	}
}

static void do_break(const struct kmod_call *call)
{
	char *now = sbrk(0);

	if (brk(now + ((int8_t)call->b) * (long)PAGE))
		errno = 0;
}

static __attribute__((noinline)) void grow_stack(unsigned int pages)
{
	volatile char bytes[PAGE];

	bytes[0] = 1;
	if (pages)
		grow_stack(pages - 1);
	bytes[1] = bytes[0];
}

static void do_stack(const struct kmod_call *call)
{
	grow_stack(call->b % 64);
}

void kmod_calls_map_some(uint8_t choice)
{
	for (unsigned int i = 0; i < 1 + choice % 4u; i++) {
		char *at = mmap(NULL, PAGE * (1 + choice % 7), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return;
		at[0] = 1;
		if (choice & 0x10)
			munmap(at, PAGE);
	}
}

static void do_fork(const struct kmod_call *call)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = call->b & 1 ? fork() : vfork();

	if (pid < 0)
		return;
	if (!pid) {
		if (call->b & 1) {
			kmod_calls_map_some(call->c);
			if (call->b & 2)
				_exit(0);
		}
		if (call->b & 4)
			_exit(0);
		execv("/bin/true", argv);
		_exit(1);
	}
	if (call->b & 8)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void *thread(void *choice)
{
	kmod_calls_map_some((uint8_t)(uintptr_t)choice);
	return NULL;
}

static void do_thread(const struct kmod_call *call)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread, (void *)(uintptr_t)call->b))
		return;
	kmod_calls_map_some(call->c);
	pthread_join(id, NULL);
}

static void do_limit(const struct kmod_call *call)
{
	static const int limits[] = { RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_STACK, RLIMIT_DATA };
	struct rlimit limit;

	if (getrlimit(limits[call->a & 3], &limit))
		return;
	limit.rlim_cur = call->b & 1 ? limit.rlim_max : edge(call->c) < limit.rlim_max ? edge(call->c) : limit.rlim_max;
	setrlimit(limits[call->a & 3], &limit);
}

static void do_other(const struct kmod_call *call)
{
	int fd = own.devices[call->a % SLOTS], pair[2];
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	switch (call->b % 10) {
	case 0: poll(&poller, 1, 0); break;
	case 1: prctl(PR_SET_DUMPABLE, call->c & 1); break;
	case 2: if (read(fd, own.page, 64) < 0 && write(fd, own.page, 64) < 0) errno = 0; break;
	case 3: lseek(fd, (off_t)edge(call->c), SEEK_SET); fsync(fd); break;
	case 4: if ((pair[0] = dup(fd)) >= 0) close(pair[0]); break;
	case 5: unshare(call->c & 1 ? CLONE_NEWUSER : CLONE_FILES); break;
	case 6: kill(own.victim, call->c & 1 ? SIGSTOP : SIGCONT); break;
	case 7: prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); break;
	case 8: syscall(SYS_userfaultfd, O_CLOEXEC | 1); break;
	case 9: sched_yield(); break;
	}
}

static void (*const all[KMOD_CALLS])(const struct kmod_call *call) = {
	[KMOD_CALL_OPEN] = do_open,
	[KMOD_CALL_CLOSE] = do_close,
	[KMOD_CALL_QUERY] = do_query,
	[KMOD_CALL_SETUP] = do_setup,
	[KMOD_CALL_ENROL] = do_enrol,
	[KMOD_CALL_ATTACH] = do_attach,
	[KMOD_CALL_RESYNC] = do_resync,
	[KMOD_CALL_STATUS] = do_status,
	[KMOD_CALL_TEST] = do_test,
	[KMOD_CALL_HOOK] = do_hook,
	[KMOD_CALL_KNOWN] = do_known,
	[KMOD_CALL_ANY_IOCTL] = do_any_ioctl,
	[KMOD_CALL_MAP_DEVICE] = do_map_device,
	[KMOD_CALL_CHANGE_RING] = do_change_ring,
	[KMOD_CALL_MAP] = do_map,
	[KMOD_CALL_CHANGE_MAP] = do_change_map,
	[KMOD_CALL_BREAK] = do_break,
	[KMOD_CALL_STACK] = do_stack,
	[KMOD_CALL_FORK] = do_fork,
	[KMOD_CALL_THREAD] = do_thread,
	[KMOD_CALL_LIMIT] = do_limit,
	[KMOD_CALL_OTHER] = do_other,
};

void kmod_calls_begin(pid_t victim)
{
	own.page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	own.bad = own.page + PAGE;
	mprotect(own.bad, PAGE, PROT_NONE);
	own.victim = victim;
	for (int i = 0; i < SLOTS; i++)
		own.devices[i] = -1;
}

void kmod_calls_make(const struct kmod_call *call)
{
	all[call->what % KMOD_CALLS](call);
}

void kmod_calls_end(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (own.devices[i] >= 0)
			close(own.devices[i]);
}
