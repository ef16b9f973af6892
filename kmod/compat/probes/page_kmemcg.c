// SPDX-License-Identifier: GPL-2.0
// Compiles if pages charged to a memory cgroup have a page type, which makes vm_map_pages() reject them (before 5.11,
// commit 18b2db3b0385).
#include <linux/page-flags.h>

int probe(struct page *page);
int probe(struct page *page)
{
	return PageKmemcg(page);
}
