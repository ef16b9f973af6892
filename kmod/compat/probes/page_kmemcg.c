// SPDX-License-Identifier: GPL-2.0
// Pages that a memory cgroup is charged for are of a type, which cannot be mapped by vm_map_pages() (before 5.11,
// commit 18b2db3b0385).
#include <linux/page-flags.h>

int probe(struct page *page);
int probe(struct page *page)
{
	return PageKmemcg(page);
}
