// SPDX-License-Identifier: GPL-2.0
// Tests stack copies: the registers and bytes are correct, exactly one copy is made for each system call, and no copy
// exposes anything that must stay hidden.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"

#define RING	(4 << 20)
#define PAGE	4096UL
#define USER	1000
#define RSP	7
#define RIP	16

/* Addresses that the child reports, in shared memory. */
struct said {
	uint64_t addr;		/* address of the mapping that the child has created */
	uint64_t returns[2];	/* two return addresses that are on the child's stack */
	uint64_t after;		/* address of the instruction after the syscall instruction */
	uint64_t sp;
	uint64_t canary;
};

static struct said *said;

/* Copies of all records. They are needed because the ring is overwritten. */
struct kept {
	struct massif_record *at[4096];
	size_t count;
};

FIXTURE(stack)
{
	struct kmod_session session;
	struct kept kept;
};

FIXTURE_SETUP(stack)
{
	said = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)said);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, MASSIF_STACK_MAX));
}

FIXTURE_TEARDOWN(stack)
{
	size_t i;

	kmod_session_close(&self->session);
	for (i = 0; i < self->kept.count; i++)
		free(self->kept.at[i]);
}

static int keep(const struct massif_record *rec, void *arg)
{
	struct kept *kept = arg;
	struct massif_record *copy = malloc(rec->size);

	if (!copy || kept->count == sizeof(kept->at) / sizeof(kept->at[0]))
		return -ENOMEM;
	memcpy(copy, rec, rec->size);
	kept->at[kept->count++] = copy;
	return 0;
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct massif_rec_stack *stack_of(const struct kept *kept, uint32_t capture)
{
	size_t i;

	for (i = 0; i < kept->count; i++)
		if (kept->at[i]->type == MASSIF_REC_STACK && kept->at[i]->capture == capture)
			return (const void *)kept->at[i];
	return NULL;
}

static const struct massif_rec_map *map_at(const struct kept *kept, uint64_t addr)
{
	size_t i;

	for (i = 0; i < kept->count; i++) {
		const struct massif_rec_map *map = (const void *)kept->at[i];

		if (map->h.type == MASSIF_REC_MAP && map->addr == addr)
			return map;
	}
	return NULL;
}

/*
 * Returns the offset from sp, in words, at which the stack copy contains @value, or -1 if it does not contain @value.
 */
static long word_at(const struct massif_rec_stack *stack, uint64_t value)
{
	const uint64_t *words = (const void *)((const char *)stack + stack->data_off);
	size_t i;

	for (i = 0; i < stack->bytes / 8; i++)
		if (words[i] == value)
			return i;
	return -1;
}

/* Maps one page with a bare syscall instruction, so that the return address is known. */
__attribute__((noinline)) static uint64_t raw_mmap(void)
{
	register long r10 asm("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long r8 asm("r8") = -1;
	register long r9 asm("r9") = 0;
	uint64_t ret, after, sp;

	asm volatile("lea 1f(%%rip), %1\n\t"
		     "mov %%rsp, %2\n\t"
		     "syscall\n"
		     "1:"
		     : "=a"(ret), "=&b"(after), "=&r"(sp)
		     : "a"((long)SYS_mmap), "D"(0L), "S"(PAGE), "d"((long)PROT_NONE), "r"(r10),
		       "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	said->after = after;
	said->sp = sp;
	said->returns[0] = (uintptr_t)__builtin_return_address(0);
	return ret;
}

__attribute__((noinline)) static uint64_t outer(void)
{
	volatile uint64_t canary[2] = { 0x6d6173736966, 0x7374616b63 };
	uint64_t addr;

	said->canary = canary[0];
	said->returns[1] = (uintptr_t)__builtin_return_address(0);
	addr = raw_mmap();
	/* Prevents a tail call. */
	asm volatile("" : : "r"(canary) : "memory");
	return addr;
}

static int map_once(void *arg)
{
	said->addr = outer();
	return 0;
}

static void check_stack(struct __test_metadata *_metadata, const struct kept *kept)
{
	const struct massif_rec_map *map = map_at(kept, said->addr);
	const struct massif_rec_stack *stack;

	ASSERT_NE(NULL, map);
	EXPECT_EQ(MASSIF_MAP_MMAP, map->kind);
	EXPECT_EQ(PAGE, map->len);
	EXPECT_EQ(0, map->h.flags);
	ASSERT_NE(0, map->h.capture);
	stack = stack_of(kept, map->h.capture);
	ASSERT_NE(NULL, stack);
	EXPECT_EQ(map->h.target, stack->h.target);
	EXPECT_EQ(map->h.tid, stack->h.tid);
	EXPECT_LT(map->h.seq, stack->h.seq);
	EXPECT_EQ(MASSIF_ARCH_X86_64, stack->arch);
	ASSERT_EQ(MASSIF_X86_64_REGS, stack->nr_regs);
	EXPECT_EQ(said->after, stack->regs[RIP]);
	EXPECT_EQ(said->sp, stack->regs[RSP]);
	EXPECT_EQ(said->sp, stack->sp);
	EXPECT_EQ(said->addr, stack->regs[0]);
	EXPECT_LE(0, word_at(stack, said->returns[0]));
	EXPECT_LE(0, word_at(stack, said->canary));
	EXPECT_LT(word_at(stack, said->returns[0]), word_at(stack, said->returns[1]));
	EXPECT_GE(stack->h.size, stack->data_off + stack->bytes);
}

TEST_F_TIMEOUT(stack, has_the_frames_of_the_system_call, 60)
{
	const struct massif_rec_map *map;

	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, map_once, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	check_stack(_metadata, &self->kept);
	map = map_at(&self->kept, said->addr);
	EXPECT_EQ(0, stack_of(&self->kept, map->h.capture)->stack_flags);
}

static void *thread(void *arg)
{
	map_once(NULL);
	return NULL;
}

static int map_in_thread(void *arg)
{
	pthread_t id;

	return pthread_create(&id, NULL, thread, NULL) ?: pthread_join(id, NULL);
}

TEST_F_TIMEOUT(stack, of_a_thread_is_its_own, 60)
{
	const struct massif_rec_map *map;
	pid_t pid = kmod_session_call(&self->session, map_in_thread, NULL);

	ASSERT_EQ(0, exit_status(pid));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	check_stack(_metadata, &self->kept);
	map = map_at(&self->kept, said->addr);
	EXPECT_NE(pid, map->h.tid);
	/* The copy must end where the thread's stack and the page of thread-local storage above it end. */
	EXPECT_GT(MASSIF_STACK_MAX, stack_of(&self->kept, map->h.capture)->bytes);
}

/* Maps one page with @sp as the stack pointer. */
__attribute__((noinline)) static uint64_t raw_mmap_on(void *sp)
{
	register long r10 asm("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long r8 asm("r8") = -1;
	register long r9 asm("r9") = 0;
	uint64_t addr, old;

	asm volatile("mov %%rsp, %1\n\t"
		     "mov %3, %%rsp\n\t"
		     "syscall\n\t"
		     "mov %1, %%rsp"
		     : "=a"(addr), "=&b"(old)
		     : "a"((long)SYS_mmap), "r"(sp), "D"(0L), "S"(PAGE), "d"((long)PROT_NONE),
		       "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return addr;
}

/*
 * Calls mmap the way a coroutine would: on a stack that is a four-page mapping of its own, which cannot merge with
 * others.
 */
static int map_on_own_stack(void *arg)
{
	char *stack = mmap(NULL, 6 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack += PAGE;
	if (mprotect(stack, 4 * PAGE, PROT_READ | PROT_WRITE))
		return 1;
	/* The last page of the coroutine's stack is not touched before the stack is copied. */
	strcpy(stack + 2 * PAGE, "bottom");
	said->addr = raw_mmap_on(stack + 2 * PAGE);
	return 0;
}

TEST_F_TIMEOUT(stack, ends_where_its_mapping_ends, 60)
{
	const struct massif_rec_stack *stack;

	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, map_on_own_stack, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	ASSERT_NE(NULL, map_at(&self->kept, said->addr));
	stack = stack_of(&self->kept, map_at(&self->kept, said->addr)->h.capture);
	ASSERT_NE(NULL, stack);
	EXPECT_EQ(0, stack->stack_flags);
	ASSERT_EQ(2 * PAGE, stack->bytes);
	EXPECT_STREQ("bottom", (const char *)stack + stack->data_off);
}

static int map_without_stack(void *arg)
{
	said->addr = raw_mmap_on((void *)8);
	return 0;
}

TEST_F_TIMEOUT(stack, without_a_stack_has_the_registers, 60)
{
	const struct massif_rec_stack *stack;

	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, map_without_stack, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	ASSERT_NE(NULL, map_at(&self->kept, said->addr));
	stack = stack_of(&self->kept, map_at(&self->kept, said->addr)->h.capture);
	ASSERT_NE(NULL, stack);
	EXPECT_EQ(MASSIF_STACK_FAULTED, stack->stack_flags);
	EXPECT_EQ(0, stack->bytes);
	EXPECT_EQ(8, stack->regs[RSP]);
}

static int one_call_many_records(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	/* Replace a mapping, which produces UNMAP, MAP and NAME records. */
	if (mmap(p, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != p)
		return 1;
	/* Move and grow a mapping, which produces MAP, UNMAP and NAME records. */
	if (mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED)
		return 2;
	return 0;
}

TEST_F_TIMEOUT(stack, is_one_for_a_system_call, 60)
{
	uint32_t seen[4096] = { 0 }, open_capture = 0;
	size_t i, stacks = 0, named = 0, maps = 0;

	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, one_call_many_records, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	for (i = 0; i < self->kept.count; i++) {
		const struct massif_record *rec = self->kept.at[i];
		const struct massif_rec_vma *name = (const void *)rec;

		ASSERT_GT(4096, rec->capture);
		switch (rec->type) {
		case MASSIF_REC_MAP:
			/*
			 * There is only one thread, so the stack of the previous call must already have been recorded.
			 */
			EXPECT_TRUE(!open_capture || open_capture == rec->capture);
			EXPECT_EQ(0, seen[rec->capture]);
			open_capture = rec->capture;
			maps++;
			break;
		case MASSIF_REC_NAME:
			EXPECT_NE(0, open_capture);
			EXPECT_NE(NULL, strstr(name->name, "kmod_stack"));
			EXPECT_EQ(strlen(name->name), name->name_len);
			named++;
			break;
		case MASSIF_REC_STACK:
			EXPECT_EQ(open_capture, rec->capture);
			EXPECT_EQ(0, seen[rec->capture]++);
			open_capture = 0;
			stacks++;
			break;
		}
	}
	EXPECT_EQ(0, open_capture);
	EXPECT_EQ(maps, stacks);
	EXPECT_EQ(3, named);
}

static int grow(void *arg)
{
	volatile char deep[512 << 10];

	deep[0] = 1;
	map_once(NULL);
	return deep[0] - 1;
}

TEST_F_TIMEOUT(stack, is_cut_at_the_limit, 60)
{
	const struct massif_rec_stack *stack;
	size_t i;
	bool grown = false;

	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, grow, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	for (i = 0; i < self->kept.count; i++) {
		const struct massif_rec_map *map = (const void *)self->kept.at[i];

		grown |= map->h.type == MASSIF_REC_MAP && map->kind == MASSIF_MAP_STACK &&
			 map->h.capture;
	}
	EXPECT_TRUE(grown);
	ASSERT_NE(NULL, map_at(&self->kept, said->addr));
	stack = stack_of(&self->kept, map_at(&self->kept, said->addr)->h.capture);
	ASSERT_NE(NULL, stack);
	EXPECT_EQ(MASSIF_STACK_TRUNCATED, stack->stack_flags);
	EXPECT_EQ(MASSIF_STACK_MAX, stack->bytes);
	EXPECT_LE(0, word_at(stack, said->returns[0]));
}

TEST_F_TIMEOUT(stack, can_be_turned_off, 60)
{
	struct kmod_session without;
	size_t i;

	ASSERT_EQ(0, kmod_session_open(&without, RING, 0));
	ASSERT_EQ(0, exit_status(kmod_session_call(&without, map_once, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&without, 20000, keep, &self->kept));
	EXPECT_NE(NULL, map_at(&self->kept, said->addr));
	for (i = 0; i < self->kept.count; i++) {
		EXPECT_NE(MASSIF_REC_STACK, self->kept.at[i]->type);
		EXPECT_EQ(0, self->kept.at[i]->capture);
	}
	kmod_session_close(&without);
}

/* In the session of an unprivileged user, a profiled process executes a program that the user may not inspect. */
struct secret {
	mode_t mode;
	uid_t owner;
	uint32_t reason;
	bool capability;	/* the executed file has a capability that the user does not have */
};

static int exec_as_user(void *arg)
{
	execl(arg, "secret", NULL);
	return 9;
}

/* Runs in a child that has switched to an unprivileged user. Returns 0, or the number of the step that failed. */
static int watch_secret(const char *program, uint32_t reason)
{
	struct kmod_session session;
	struct kept kept = { 0 };
	uint32_t tgid = 0, ends = 0;
	size_t i, ended = 0;
	pid_t pid;

	if (kmod_session_open(&session, RING, 4096))
		return 1;
	pid = kmod_session_call(&session, exec_as_user, (void *)program);
	if (exit_status(pid) != 0)
		return 2;
	if (kmod_session_drain(&session, 20000, keep, &kept))
		return 3;
	for (i = 0; i < kept.count; i++) {
		const struct massif_rec_end *end = (const void *)kept.at[i];

		if (end->h.type == MASSIF_REC_EXEC)
			return 4;
		if (end->h.type != MASSIF_REC_END)
			continue;
		if (end->reason != reason)
			return 10 + end->reason;
		tgid = end->tgid;
		ended = i;
		ends++;
	}
	if (ends != 1 || tgid != (uint32_t)pid)
		return 5;
	/* The executed program is not a target, so no record follows the END record. */
	if (ended != kept.count - 1)
		return 6;
	return 0;
}

static int run_secret(const char *program, uint32_t reason)
{
	pid_t pid = fork();

	if (!pid) {
		if (kmod_session_allow() || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
		    prctl(PR_SET_DUMPABLE, 1))
			_exit(20);
		_exit(watch_secret(program, reason));
	}
	return exit_status(pid);
}

TEST_F_TIMEOUT(stack, of_a_secret_program_is_not_seen, 120)
{
	static const struct secret secrets[] = {
		{ 04755, 0, MASSIF_END_SECURE },
		{ 02755, 0, MASSIF_END_SECURE },
		{ 0711, 0, MASSIF_END_UNREADABLE },
		{ 0755, USER, MASSIF_END_SECURE, true },
	};
	const struct vfs_cap_data capability = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1 << CAP_NET_RAW,
	};
	char dir[PATH_MAX], program[PATH_MAX + 16], command[2 * PATH_MAX];
	size_t i;

	snprintf(dir, sizeof(dir), "%s/secret.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, chmod(dir, 0755));
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(command, sizeof(command), "cp /bin/true %s", program);
	ASSERT_EQ(0, system(command));
	for (i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		ASSERT_EQ(0, chown(program, secrets[i].owner, 0));
		ASSERT_EQ(0, chmod(program, secrets[i].mode));
		if (secrets[i].capability)
			ASSERT_EQ(0, setxattr(program, "security.capability", &capability, sizeof(capability), 0));
		EXPECT_EQ(0, run_secret(program, secrets[i].reason)) {
			TH_LOG("row %zu", i);
		}
	}
	EXPECT_EQ(0, chmod(MASSIF_DEVICE, 0660));
}

static int map_undumpable(void *arg)
{
	prctl(PR_SET_DUMPABLE, 0);
	return map_once(NULL);
}

static int watch_undumpable(void)
{
	struct kmod_session session;
	struct kept kept = { 0 };

	if (kmod_session_open(&session, RING, 4096))
		return 1;
	if (exit_status(kmod_session_call(&session, map_undumpable, NULL)))
		return 2;
	if (kmod_session_drain(&session, 20000, keep, &kept))
		return 3;
	return map_at(&kept, said->addr) ? 4 : 0;
}

TEST_F_TIMEOUT(stack, of_an_undumpable_process_is_not_seen, 60)
{
	pid_t pid;

	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
	pid = fork();
	if (!pid) {
		if (kmod_session_allow() || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
		    prctl(PR_SET_DUMPABLE, 1))
			_exit(20);
		_exit(watch_undumpable());
	}
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, chmod(MASSIF_DEVICE, 0660));
	/* Root may profile a process that is not dumpable. */
	ASSERT_EQ(0, exit_status(kmod_session_call(&self->session, map_undumpable, NULL)));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20000, keep, &self->kept));
	check_stack(_metadata, &self->kept);
}

TEST_HARNESS_MAIN
