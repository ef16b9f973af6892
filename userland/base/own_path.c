// SPDX-License-Identifier: GPL-2.0
// The file of the running program.

#include "base/own_path.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/proc_mapping.h"

/* The dynamic linker was executed: the program is a mapped file like others, the one that has this function. */
static int find_mapped(char path[PATH_MAX])
{
	const uint64_t own = (uintptr_t)mf_own_path;
	struct mf_proc_mappings mappings;
	struct mf_proc_mapping mapping;
	int ret = mf_proc_mappings_open(&mappings, 0);

	if (ret)
		return ret;
	ret = -ENOENT;
	while (ret && mf_proc_mappings_next(&mappings, &mapping)) {
		if (own < mapping.start || own >= mapping.end || strlen(mapping.path) >= PATH_MAX)
			continue;
		strcpy(path, mapping.path);
		ret = 0;
	}
	mf_proc_mappings_close(&mappings);
	return ret;
}

int mf_own_path(char path[PATH_MAX])
{
	ssize_t length;

	if (!getauxval(AT_BASE))
		return find_mapped(path);
	length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	return 0;
}
