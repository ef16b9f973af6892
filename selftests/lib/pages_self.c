// SPDX-License-Identifier: GPL-2.0
// Collects the data that massif.ko would record about this process: its mappings, registers and stack.

#include "selftests/lib/pages_self.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
/* Registers in the order of their DWARF numbers: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip. */
static const int dwarf_order[] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
	REG_R9,	 REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};
#define STACK_POINTER 7
#endif

unsigned int self_read_maps(struct mf_space *space, struct mf_files *files)
{
	mf_auto_fclose FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[8192];

	while (maps && fgets(line, sizeof(line), maps)) {
		struct mf_interval interval = {0};
		unsigned int major, minor;
		uint64_t inode;
		int path = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &interval.start, &interval.end, &interval.offset, &major, &minor, &inode,
			   &path) < 6)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (inode || !strcmp(line + path, "[vdso]"))
			interval.file = mf_files_intern(files, line + path,
							(uint64_t)major << 32 | minor, inode);
		if (!mf_space_add(space, &interval, NULL, NULL))
			n++;
	}
	return n;
}

void self_capture(struct self_capture *capture, const ucontext_t *context,
		  const struct mf_space *space, uint64_t max)
{
	const struct mf_interval *stack;
	uint64_t sp, bytes = max < SELF_STACK_MAX ? max : SELF_STACK_MAX;
	uint32_t n_regs = sizeof(dwarf_order) / sizeof(dwarf_order[0]);

	for (uint32_t i = 0; i < n_regs; i++)
		capture->regs[i] = (uint64_t)context->uc_mcontext.gregs[dwarf_order[i]];
	sp = capture->regs[STACK_POINTER];
	stack = mf_space_find(space, sp);
	if (!stack)
		bytes = 0;
	else if (bytes > stack->end - sp)
		bytes = stack->end - sp;
	memcpy(capture->bytes, (const void *)(uintptr_t)sp, bytes);
	capture->stack = (struct mf_user_stack){
		.regs = capture->regs,
		.n_regs = n_regs,
		.sp = sp,
		.bytes = capture->bytes,
		.n_bytes = bytes,
	};
}
