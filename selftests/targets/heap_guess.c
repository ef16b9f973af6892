// SPDX-License-Identifier: GPL-2.0
// Allocates in code without unwind tables that uses the frame pointer for other data. The code runs on a stack other
// than the thread's, and the shim does not know the extent of that stack.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (64 << 10)
#define SPACE (8 << 20)
#define DEEP  (1 << 20)

typedef void *made(void *frame_pointer, size_t size, void *(*function)(size_t));

static made *code;
static ucontext_t home, away;
static char *stack;
static void *frame_pointer;
static volatile uintptr_t inside;

static __attribute__((noinline)) void note(volatile char *room)
{
	room[0] = 1;
	inside = (uintptr_t)__builtin_return_address(0);
}

/* Sets `inside` to a return address in this function, which has a frame of DEEP bytes. */
static __attribute__((noinline)) void deep(void)
{
	volatile char room[DEEP];

	note(room);
	room[DEEP - 1] = room[0];
}

static void allocate(void)
{
	free(code(frame_pointer, 1000, malloc));
}

static void allocate_with(void *value)
{
	frame_pointer = value;
	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = STACK;
	away.uc_link = &home;
	makecontext(&away, allocate, 0);
	swapcontext(&home, &away);
}

static void *run(void *data)
{
	char *space = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t *frame;

	/*
	 * The other stack is below the thread's own, where the kernel usually places mappings. So everything between
	 * the two could be mistaken for a stack.
	 */
	stack = space;
	mprotect(stack, STACK, PROT_READ | PROT_WRITE);
	if ((uintptr_t)stack > (uintptr_t)&frame || (uintptr_t)&frame - (uintptr_t)stack > 1u << 29)
		return "the stacks lie otherwise";
	/* The frame pointer points to inaccessible memory. */
	allocate_with(space + SPACE / 2);
	/* Only the first of the two words at the frame pointer is accessible. */
	allocate_with(stack + STACK - 8);
	/*
	 * Of the two words at the frame pointer, the first is zero and the second is a return address in deep(). They
	 * cannot be a saved frame pointer and the return address to a caller, because this stack is too small for a
	 * frame of deep().
	 */
	deep();
	frame = (uintptr_t *)(stack + STACK - 512);
	frame[0] = 0;
	frame[1] = inside;
	allocate_with(frame);
	return "fine";
}

int main(void)
{
	static const unsigned char text[] = {
		0x55,		  /* push %rbp */
		0x48, 0x89, 0xfd, /* mov %rdi, %rbp */
		0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
		0xff, 0xd2,	  /* call *%rdx */
		0x5d, 0xc3,	  /* pop %rbp; ret */
	};
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	void *words = "no thread";

	memcpy(memory, text, sizeof(text));
	code = (made *)(uintptr_t)memory;
	if (!pthread_create(&thread, NULL, run, NULL))
		pthread_join(thread, &words);
	puts(words);
	return 0;
}
