// SPDX-License-Identifier: GPL-2.0
// A library with thread-local data that the dynamic linker allocates when a thread first accesses it.

static __thread char local[3000];

int heap_name_space_touch(void);

int heap_name_space_touch(void)
{
	return ++local[2000];
}
