// SPDX-License-Identifier: GPL-2.0
// One of two libraries that differ only in a function name and can be mapped at the same address; used by pages_stacks.c.

int library_call(int (*call)(void));

static __attribute__((noinline)) int call_in_b(int (*call)(void))
{
	return call() + 1;
}

int library_call(int (*call)(void))
{
	return call_in_b(call) + 1;
}
