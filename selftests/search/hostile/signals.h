/* SPDX-License-Identifier: GPL-2.0 */
/* Building blocks of hostile programs: signals and their handlers. */
#ifndef MASSIF_SELFTESTS_SIGNALS_H
#define MASSIF_SELFTESTS_SIGNALS_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "state.h"

static volatile sig_atomic_t ticks;
static volatile uint64_t handler_sum;
static sigjmp_buf from_handler;

UNUSED static void count_only(int signal)
{
	ticks = ticks + 1;
}

/* A signal handler that allocates, so it must not be used for signals that can interrupt an allocation. */
UNUSED static void allocate(int signal)
{
	handler_sum = mix(handler_sum, churn((unsigned int)signal, 20));
	ticks = ticks + 1;
}

UNUSED static void set_handler(int signal, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(signal, &action, NULL);
}

/* Sets a timer whose signals interrupt allocations continuously. The handler only counts. */
UNUSED static uint64_t piece_timer(unsigned int p)
{
	struct itimerval every = { { 0, 200 + p % 300 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	uint64_t sum = 0;

	set_handler(SIGALRM, count_only, SA_RESTART | (p & 1 ? SA_NODEFER : 0));
	ticks = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	/*
	 * Call churn(), which allocates and frees blocks, until 20 timer signals have arrived. The number of calls
	 * varies, so return only the checksum of the last call.
	 */
	while (ticks < 20)
		sum = churn(p, 100);
	setitimer(ITIMER_REAL, &never, NULL);
	set_handler(SIGALRM, SIG_IGN, 0);
	return sum;
}

UNUSED static uint64_t piece_raise(unsigned int p)
{
	size_t size = 65536;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t own, none;

	memset(&own, 0, sizeof(own));
	memset(&none, 0, sizeof(none));
	own.ss_sp = memory;
	own.ss_size = size;
	none.ss_flags = SS_DISABLE;
	handler_sum = 0;
	sigaltstack(&own, NULL);
	set_handler(SIGUSR1, allocate, p & 1 ? SA_ONSTACK : 0);
	set_handler(SIGRTMIN + 3, allocate, SA_ONSTACK | SA_NODEFER);
	for (unsigned int i = 0; i < 50; i++) {
		raise(i % 2 ? SIGUSR1 : SIGRTMIN + 3);
		free(malloc(i));
	}
	sigaltstack(&none, NULL);
	munmap(memory, size);
	set_handler(SIGUSR1, SIG_DFL, 0);
	return handler_sum;
}

static char *guarded;

UNUSED static void open_page(int signal, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~4095ul;

	free(malloc(60));
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
	ticks = ticks + 1;
}

/*
 * Causes faults on purpose, as garbage collectors and databases do. The handler allocates and makes the page
 * accessible.
 */
UNUSED static uint64_t piece_faults(unsigned int p)
{
	struct sigaction action, old;
	uint64_t sum;

	guarded = (char *)mmap(NULL, 64 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = open_page;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, &old);
	ticks = 0;
	for (unsigned int i = 0; i < 64; i++) {
		free(malloc(i + p % 100));
		guarded[i * 4096 + p % 4096]++;
	}
	sum = mix((uint64_t)ticks, churn(p, 100));
	sigaction(SIGSEGV, &old, NULL);
	munmap(guarded, 64 * 4096);
	return sum;
}

UNUSED static void jump(int signal)
{
	free(malloc(70));
	siglongjmp(from_handler, 1);
}

/* Leaves signal handlers with siglongjmp(). */
UNUSED static uint64_t piece_jump(unsigned int p)
{
	volatile uint64_t sum = 0;

	set_handler(SIGUSR2, jump, p & 1 ? SA_NODEFER : 0);
	for (volatile unsigned int i = 0; i < 40; i++) {
		if (!sigsetjmp(from_handler, 1)) {
			void *volatile block = malloc(100);

			free(block);
			raise(SIGUSR2);
		}
		sum = mix(sum, churn(p + i, 10));
	}
	set_handler(SIGUSR2, SIG_DFL, 0);
	return sum;
}

static volatile int events;

UNUSED static void on_event(union sigval value)
{
	free(malloc(99));
	__atomic_add_fetch(&events, 1, __ATOMIC_SEQ_CST);
}

/*
 * Sets a timer that runs a function in a new thread each time it expires, with signals blocked. The C library starts
 * these threads from a helper thread that has a small stack.
 */
UNUSED static uint64_t piece_timer_threads(unsigned int p)
{
	struct sigevent how;
	struct itimerspec every;
	timer_t timer;
	uint64_t sum = 0;

	memset(&how, 0, sizeof(how));
	how.sigev_notify = SIGEV_THREAD;
	how.sigev_notify_function = on_event;
	if (timer_create(CLOCK_MONOTONIC, &how, &timer))
		return 1;
	memset(&every, 0, sizeof(every));
	every.it_value.tv_nsec = every.it_interval.tv_nsec = 1000000 + p % 1000;
	events = 0;
	timer_settime(timer, 0, &every, NULL);
	while (__atomic_load_n(&events, __ATOMIC_SEQ_CST) < 10)
		sum = churn(p, 50);
	timer_delete(timer);
	return sum;
}

/* Checks that allocations do not change the signal mask or pending signals. */
UNUSED static uint64_t piece_mask(unsigned int p)
{
	sigset_t all, old, now, pending;
	uint64_t sum;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	set_handler(SIGUSR1, count_only, 0);
	ticks = 0;
	raise(SIGUSR1);
	sum = churn(p, 100);
	sigprocmask(SIG_SETMASK, NULL, &now);
	sigpending(&pending);
	for (int i = 1; i < 65; i++)
		sum = mix(sum, (uint64_t)(sigismember(&now, i) * 2 + sigismember(&pending, i)));
	sum = mix(sum, (uint64_t)ticks);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return mix(sum, (uint64_t)ticks);
}

/* Checks the initial disposition of each signal. */
UNUSED static uint64_t piece_dispositions(unsigned int p)
{
	struct sigaction action;
	uint64_t sum = 0;

	for (int i = 1; i < 65; i++) {
		if (sigaction(i, NULL, &action) == 0)
			sum = mix(sum, (uint64_t)action.sa_handler * 31 + (uint64_t)action.sa_flags);
	}
	return sum;
}

#endif
