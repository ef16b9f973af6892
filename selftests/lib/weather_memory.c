// SPDX-License-Identifier: GPL-2.0
// Disturbances of a profiled process's pages: swapping, merging, collapsing, moving, and pages from another process.
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftests/lib/take_descriptor.h"
#include "selftests/lib/weather.h"
#include "selftests/lib/guest_swap.h"

#define PAGE	4096ul

static long effects, before;

static long vmstat(const char *field)
{
	return weather_number("/proc/vmstat", field);
}

/* A setting to change and restore. If its file lists several choices, the current one is in brackets. */
struct setting {
	const char *path;
	const char *text;
	char was[64];
};

static bool set(struct setting *settings, size_t count)
{
	char line[256] = "";
	bool ok = true;
	size_t i;

	for (i = 0; i < count; i++) {
		FILE *file = fopen(settings[i].path, "r");
		const char *from = line;

		if (!file)
			return false;
		if (!fgets(line, sizeof(line), file))
			ok = false;
		fclose(file);
		if (strchr(line, '[')) {
			from = strchr(line, '[') + 1;
			*strchr(line, ']') = '\0';
		}
		snprintf(settings[i].was, sizeof(settings[i].was), "%.63s", from);
		ok = ok && weather_put(settings[i].path, settings[i].text);
	}
	return ok;
}

static void set_back(struct setting *settings, size_t count)
{
	while (count--)
		if (settings[count].was[0])
			weather_put(settings[count].path, settings[count].was);
}

static long effects_now(void)
{
	return effects;
}

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* Disturbance: pages are swapped. */

#define GROUP	"swap"

static const char *begin_swap(struct member *member)
{
	if (!guest_swap_begin(&guest_swap_zram))
		return "zram to swap to";
	if (!weather_group_make(GROUP, 24ul << 20) || !weather_group_enter(GROUP, member->pid))
		return "control groups of memory";
	before = vmstat("pswpout");
	return NULL;
}

/*
 * Lowers memory.high of the profiled process's control group for a while. The kernel then swaps out the profiled
 * process's pages in the context of the calling process, which writes memory.high. When the profiled process reaches
 * the hard limit (memory.max), its own thread swaps out the pages.
 */
static void blow_swap(struct member *member, unsigned int round)
{
	weather_group_put(GROUP, "memory.high", round % 2 ? "4M" : "10M");
	usleep(20 * 1000);
	weather_group_put(GROUP, "memory.high", "max");
	usleep(round % 4 * 20 * 1000);
}

static long effects_of_swap(void)
{
	return vmstat("pswpout") - before;
}

static bool end_swap(struct member *member)
{
	weather_group_remove(GROUP);
	return guest_swap_end(&guest_swap_zram);
}

const struct weather weather_swap = {
	.begin = begin_swap, .blow = blow_swap, .effects = effects_of_swap, .end = end_swap,
};

/* Disturbance: pages with equal contents are merged (KSM). */

#define KSM	"/sys/kernel/mm/ksm/"

static struct setting ksm[] = {
	{ KSM "pages_to_scan", "4000" },
	{ KSM "sleep_millisecs", "1" },
};

static const char *begin_merging(struct member *member)
{
	effects = 0;
	return set(ksm, COUNT(ksm)) && weather_put(KSM "run", "1") ? NULL : "KSM";
}

/*
 * Writing 2 to KSM's file `run` unmerges all merged pages. The page faults that unmerge them are taken by this process,
 * but in the address space of the profiled process.
 */
static void blow_merging(struct member *member, unsigned int round)
{
	usleep(100 * 1000);
	if (weather_number(KSM "pages_sharing", NULL) > 0)
		effects++;
	if (round % 4 == 3) {
		weather_put(KSM "run", "2");
		weather_put(KSM "run", "1");
	}
}

static bool end_merging(struct member *member)
{
	weather_put(KSM "run", "2");
	weather_put(KSM "run", "0");
	set_back(ksm, COUNT(ksm));
	return true;
}

const struct weather weather_merging = {
	.begin = begin_merging, .blow = blow_merging, .effects = effects_now, .end = end_merging,
};

/* Disturbance: small pages are collapsed into huge ones. */

#define THP	"/sys/kernel/mm/transparent_hugepage/"

static struct setting thp[] = {
	{ THP "enabled", "always" },
	{ THP "khugepaged/pages_to_scan", "100000" },
	{ THP "khugepaged/scan_sleep_millisecs", "5" },
	{ THP "khugepaged/alloc_sleep_millisecs", "5" },
	{ THP "khugepaged/max_ptes_none", "511" },
};

static const char *begin_collapse(struct member *member)
{
	before = vmstat("thp_collapse_alloc");
	return set(thp, COUNT(thp)) ? NULL : "transparent huge pages";
}

/*
 * Alternates between using huge pages for all page faults and using them only where madvise() requests them. In the
 * latter case, page faults leave small pages for khugepaged to collapse.
 */
static void blow_collapse(struct member *member, unsigned int round)
{
	weather_put(THP "enabled", round % 3 ? "madvise" : "always");
	usleep(60 * 1000);
}

static long effects_of_collapse(void)
{
	return vmstat("thp_collapse_alloc") - before;
}

static bool end_collapse(struct member *member)
{
	set_back(thp, COUNT(thp));
	return true;
}

const struct weather weather_collapse = {
	.begin = begin_collapse, .blow = blow_collapse, .effects = effects_of_collapse, .end = end_collapse,
};

/* Disturbance: pages are moved by compaction. */

#define COMPACT	"/proc/sys/vm/compact_memory"

static const char *begin_compaction(struct member *member)
{
	before = vmstat("pgmigrate_success");
	return access(COMPACT, W_OK) ? "compaction" : NULL;
}

static void blow_compaction(struct member *member, unsigned int round)
{
	weather_put(COMPACT, "1");
	usleep(10 * 1000);
}

static long effects_of_migration(void)
{
	return vmstat("pgmigrate_success") - before;
}

static bool end_migration(struct member *member)
{
	return true;
}

const struct weather weather_compaction = {
	.begin = begin_compaction, .blow = blow_compaction, .effects = effects_of_migration, .end = end_migration,
};

/* Disturbance: pages are moved between NUMA nodes. */

static const char *begin_nodes(struct member *member)
{
	before = vmstat("pgmigrate_success");
	return access("/sys/devices/system/node/node1", F_OK) ? "second NUMA node (numa=fake=2)" : NULL;
}

static void blow_nodes(struct member *member, unsigned int round)
{
	unsigned long from = round % 2 ? 1 : 2, to = round % 2 ? 2 : 1;

	syscall(SYS_migrate_pages, member->pid, 64, &from, &to);
	usleep(20 * 1000);
}

const struct weather weather_nodes = {
	.begin = begin_nodes, .blow = blow_nodes, .effects = effects_of_migration, .end = end_migration,
};

/* Disturbance: another process supplies the profiled process's missing pages through userfaultfd. */

static int userfault;

static const char *begin_userfault(struct member *member)
{
	effects = 0;
	userfault = take_descriptor(member->pid, member->shared->userfault);
	return userfault < 0 ? "pidfd_getfd" : NULL;
}

/*
 * Supplies every missing page in the memory range registered with the userfaultfd, whether or not a thread is waiting
 * for it.
 */
static void serve_userfault(struct member *member)
{
	static char page[PAGE];
	uint64_t i;

	for (i = 0; i < MEMBER_MISSING; i++) {
		uint64_t at = member->shared->missing + i * PAGE;
		struct uffdio_copy copy = { .dst = at, .src = (uintptr_t)page, .len = PAGE };
		struct uffdio_zeropage zero = { .range = { at, PAGE } };

		page[0] = (char)i;
		if (i % 8 ? !ioctl(userfault, UFFDIO_COPY, &copy) : !ioctl(userfault, UFFDIO_ZEROPAGE, &zero))
			effects++;
	}
}

static void blow_userfault(struct member *member, unsigned int round)
{
	serve_userfault(member);
	usleep(500);
}

static bool end_userfault(struct member *member)
{
	close(userfault);
	return true;
}

const struct weather weather_userfault = {
	.faults = true,
	.begin = begin_userfault, .blow = blow_userfault, .serve = serve_userfault,
	.effects = effects_now, .end = end_userfault,
};
