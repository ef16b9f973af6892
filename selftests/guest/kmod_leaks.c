// SPDX-License-Identifier: GPL-2.0
// Checks that the module leaks no kernel information: none of its records and answers contains a kernel address, or
// leftovers of memory that was used for something else.
//
// Kernel addresses are always searched for. If the kernel fills allocated and freed memory with patterns
// (slub_debug=P), these are searched for, too. The program's own data is skipped, because it may look like either.
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/massif.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING  (4 << 20)
#define STACK 4096

/* The lowest address in the kernel's half of the address space (x86-64 with five-level page tables). */
#define KERNEL 0xff00000000000000ull

/* SLUB's patterns for allocated but unwritten memory and for free memory, and the pattern of page poisoning. */
static const uint32_t patterns[] = { 0x5a5a5a5a, 0x6b6b6b6b, 0xaaaaaaaa };

FIXTURE(leaks)
{
	struct kmod_session session;
	uint64_t n_words, n_records[32];
	char found[256]; /* description of the first leak found */
};

FIXTURE_SETUP(leaks)
{
	struct massif_setup setup = {
		.flags = MASSIF_SETUP_RESIDENT, .ring_bytes = RING, .max_stack_bytes = STACK, .known_bytes = 64 << 10,
	};
	int err = kmod_module_load("");

	ASSERT_TRUE(!err || err == -EEXIST);
	ASSERT_EQ(0, kmod_session_be_user());
	ASSERT_EQ(0, kmod_session_open_as(&self->session, &setup));
}

FIXTURE_TEARDOWN(leaks)
{
	kmod_session_close(&self->session);
}

static void look_at(FIXTURE_DATA(leaks) *self, const char *what, const void *bytes, size_t from, size_t to)
{
	for (size_t at = from; at + 4 <= to; at += 4) {
		uint64_t word;
		uint32_t half;
		bool found = false;

		self->n_words++;
		memcpy(&half, (const char *)bytes + at, sizeof(half));
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
			found |= half == patterns[i];
		if (at % 8 == 0 && at + 8 <= to) {
			memcpy(&word, (const char *)bytes + at, sizeof(word));
			/*
			 * In a record, UINT64_MAX is not an address: it stands for the end of the address space, or for
			 * no address.
			 */
			found |= word >= KERNEL && word != UINT64_MAX;
		}
		if (found && !self->found[0])
			snprintf(self->found, sizeof(self->found), "%s: %#x at byte %zu", what, half, at);
	}
}

/*
 * Sets *@start and *@end to the range of bytes in a record that must not be searched for kernel addresses, because it
 * contains the program's own data, or signed numbers, which look like kernel addresses if they are negative.
 */
static void own_part(const struct massif_record *rec, size_t *start, size_t *end)
{
	const struct massif_rec_stack *stack = (const void *)rec;
	const struct massif_rec_vma *vma = (const void *)rec;

	*start = *end = rec->size;
	switch (rec->type) {
	case MASSIF_REC_STACK:
		*start = offsetof(struct massif_rec_stack, regs);
		*end = stack->data_off + stack->bytes;
		break;
	case MASSIF_REC_VMA:
	case MASSIF_REC_NAME:
		*start = offsetof(struct massif_rec_vma, name);
		*end = *start + vma->name_len + 1;
		break;
	case MASSIF_REC_EXEC:
		*start = offsetof(struct massif_rec_exec, path);
		*end = *start + strlen(((const struct massif_rec_exec *)rec)->path) + 1;
		break;
	case MASSIF_REC_ARGS:
		*start = offsetof(struct massif_rec_args, args);
		*end = *start + ((const struct massif_rec_args *)rec)->bytes;
		break;
	case MASSIF_REC_RESIDENT:
		*start = offsetof(struct massif_rec_resident, change);
		*end = *start + sizeof(((const struct massif_rec_resident *)0)->change);
		break;
	}
}

static int look_at_record(const struct massif_record *rec, void *arg)
{
	FIXTURE_DATA(leaks) *self = arg;
	size_t start, end;
	char what[32];

	own_part(rec, &start, &end);
	snprintf(what, sizeof(what), "record of type %u", rec->type);
	look_at(self, what, rec, 0, start);
	/* The padding at the end of a record, to a multiple of eight bytes, must be zero. */
	for (size_t at = end; at < rec->size; at++)
		if (rec->type != MASSIF_REC_RESIDENT && ((const char *)rec)[at] && !self->found[0])
			snprintf(self->found, sizeof(self->found), "%s: byte %zu of %u is %#x", what, at, rec->size,
				 ((const uint8_t *)rec)[at]);
	if (rec->type == MASSIF_REC_RESIDENT)
		look_at(self, what, rec, end, rec->size);
	if (rec->type < 32)
		self->n_records[rec->type]++;
	return 0;
}

/* Programs that fork, call exec, map files and exit, with names and arguments of various lengths. */
TEST_F_TIMEOUT(leaks, records, 240)
{
	static char *const argv[] = { "/bin/sh", "-c",
		"i=; for n in 1 2 3 4 5 6 7 8 9; do i=$i$n; /bin/sh -c \"exec /bin/true $i\"; "
		"(cat /proc/self/maps >/dev/null); done;"
		"perl -e 'my @a = map { \"x\" x ($_ * 1000) } 1..200; fork; exit 0'", NULL };
	static const uint32_t wanted[] = {
		MASSIF_REC_ENROL, MASSIF_REC_FORK, MASSIF_REC_EXEC, MASSIF_REC_ARGS, MASSIF_REC_EXIT, MASSIF_REC_END,
		MASSIF_REC_RESYNC_BEGIN, MASSIF_REC_VMA, MASSIF_REC_RESYNC_END, MASSIF_REC_MAP, MASSIF_REC_UNMAP,
		MASSIF_REC_NAME, MASSIF_REC_STACK, MASSIF_REC_RESIDENT,
	};
	pid_t pid = kmod_session_spawn(&self->session, argv);
	int status;

	ASSERT_LT(0, pid);
	EXPECT_EQ(0, kmod_session_drain(&self->session, 60000, look_at_record, self));
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_STREQ("", self->found);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		EXPECT_LT(0, self->n_records[wanted[i]]) {
			TH_LOG("no record of type %u", wanted[i]);
		}
	}
	TH_LOG("%lu words looked at", (unsigned long)self->n_words);
}

/*
 * Makes an ioctl whose argument is zero except for its size and the given fields, and checks the argument afterwards.
 */
#define ASK(command, type, ...)                                                                                        \
	do {                                                                                                           \
		type argument = { .size = sizeof(argument), ##__VA_ARGS__ };                                           \
		ioctl(self->session.fd, command, &argument);                                                           \
		look_at(self, #command, &argument, 0, sizeof(argument));                                               \
	} while (0)

TEST_F(leaks, answers)
{
	struct massif_hook_info info;
	int closed = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC), opened = self->session.fd;

	ASSERT_LE(0, closed);
	ASK(MASSIF_IOC_QUERY, struct massif_query);
	ASK(MASSIF_IOC_STATUS, struct massif_status);
	ASK(MASSIF_IOC_RESYNC, struct massif_resync);
	ASK(MASSIF_IOC_ATTACH, struct massif_attach, .pid = 1);
	ASK(MASSIF_IOC_ENROL, struct massif_enrol);
	ASK(MASSIF_IOC_TEST, struct massif_test);
	ASK(MASSIF_IOC_KNOWN, struct massif_stack_cache);
	for (uint32_t i = 0; i < 64; i++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		info.index = i;
		ioctl(opened, MASSIF_IOC_HOOK, &info);
		look_at(self, "MASSIF_IOC_HOOK", &info, 0, sizeof(info));
	}
	/* Also make ioctl calls that fail, and calls on a descriptor without a session. */
	ASK(MASSIF_IOC_SETUP, struct massif_setup, .abi = MASSIF_ABI, .ring_bytes = 1);
	self->session.fd = closed;
	ASK(MASSIF_IOC_STATUS, struct massif_status);
	ASK(MASSIF_IOC_ATTACH, struct massif_attach, .pid = 1);
	ASK(MASSIF_IOC_SETUP, struct massif_setup, .abi = MASSIF_ABI, .ring_bytes = 65536);
	self->session.fd = opened;
	close(closed);
	EXPECT_STREQ("", self->found);
}

/* Looks for leaked kernel data in the mappable pages of a new session, before anything is written to these pages. */
TEST_F(leaks, pages)
{
	look_at(self, "control page", self->session.control, 0, 4096);
	look_at(self, "consumer's page", self->session.consumer, 0, 4096);
	look_at(self, "data", self->session.data, 0, RING);
	EXPECT_STREQ("", self->found);
}

TEST_HARNESS_MAIN
