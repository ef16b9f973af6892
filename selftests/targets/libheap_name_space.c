// SPDX-License-Identifier: GPL-2.0
// A library whose thread-local data the dynamic linker allocates on a thread's first access.

static __thread char local[3000];

int heap_name_space_touch(void);

int heap_name_space_touch(void)
{
	return ++local[2000];
}
