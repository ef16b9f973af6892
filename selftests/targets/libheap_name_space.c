// SPDX-License-Identifier: GPL-2.0
// A library whose data of each thread the dynamic linker allocates when a thread touches it first.

static __thread char local[3000];

int heap_name_space_touch(void);

int heap_name_space_touch(void)
{
	return ++local[2000];
}
