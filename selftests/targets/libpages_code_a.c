// SPDX-License-Identifier: GPL-2.0
// One of two libraries alike in all but a name: where one was, the other may be; pages_stacks.c.

int library_call(int (*call)(void));

static __attribute__((noinline)) int call_in_a(int (*call)(void))
{
	return call() + 1;
}

int library_call(int (*call)(void))
{
	return call_in_a(call) + 1;
}
