// SPDX-License-Identifier: GPL-2.0
// A library whose unwind rules are only in a compressed .debug_frame; for pages_unwind.c.

int library_call(int (*call)(void));

/*
 * The frame size is known only at run time, so the unwind rules define the CFA in terms of a register other than the
 * stack pointer.
 */
static __attribute__((noinline)) int call_with_room(int (*call)(void), unsigned int size)
{
	volatile char room[size];

	room[size - 1] = 1;
	return call() + room[size - 1];
}

int library_call(int (*call)(void))
{
	return call_with_room(call, 100) + 1;
}
