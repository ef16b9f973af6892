// SPDX-License-Identifier: GPL-2.0
// heap_deferred N: allocates in a signal handler that interrupts the shim.
//
// Calls to malloc are single-stepped. In the first call, the handler runs at the first instruction of the shim, in the
// second call at the second instruction, and so on. The handler allocates N blocks of BYTES bytes and keeps them. It
// never interrupts the C library, where a handler must not allocate. The program prints how many times the handler ran.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define BYTES 1234
#define TRAP  0x100ul /* the trap flag: SIGTRAP after each instruction */

static uintptr_t start, end; /* address range of the shim's code */
static volatile long wanted, seen, n;
static volatile int fired;
static void *volatile last;

static void trap(int signal, siginfo_t *info, void *data)
{
	greg_t *regs = ((ucontext_t *)data)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)regs[REG_RIP];

	if (pc < start || pc >= end || ++seen < wanted)
		return;
	regs[REG_EFL] &= ~(greg_t)TRAP;
	for (long i = 0; i < n; i++)
		last = malloc(BYTES);
	fired = 1;
}

static void find_shim(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], rights[8];
	uintptr_t from, to;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libmassif-preload.so") &&
		    sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && rights[2] == 'x') {
			start = from;
			end = to;
		}
	if (maps)
		fclose(maps);
}

static void step_through_malloc(void)
{
	__asm__ volatile("pushf\n\torl $0x100, (%%rsp)\n\tpopf" ::: "memory", "cc");
	last = malloc(8);
	__asm__ volatile("pushf\n\tandl $~0x100, (%%rsp)\n\tpopf" ::: "memory", "cc");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };
	long times = 0;

	n = argc > 1 ? atol(argv[1]) : 1;
	find_shim();
	sigaction(SIGTRAP, &action, NULL);
	last = malloc(8);
	for (wanted = 1; wanted < 10000; wanted++) {
		seen = 0;
		fired = 0;
		step_through_malloc();
		if (!fired)
			break;
		times++;
	}
	printf("%ld\n", times);
	return 0;
}
