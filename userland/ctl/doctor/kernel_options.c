// SPDX-License-Identifier: GPL-2.0
// Compares the configuration of a kernel with what massif.ko needs, before anything is loaded or armed.

#include "kernel_options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/*
 * Each row says what the module's source does without the option. KRETPROBES has no row: on x86, KPROBES implies it. make
 * check-builds compiles the module for kernels with and without most of these options.
 */
const struct mf_kernel_option mf_kernel_options[] = {
	{ "CONFIG_MODULES", true, MF_HEALTH_BAD, "this kernel loads no modules" },
	{ "CONFIG_KPROBES", true, MF_HEALTH_BAD, "massif.ko cannot find the functions that it hooks" },
	{ "CONFIG_TRACEPOINTS", true, MF_HEALTH_BAD, "massif.ko does not learn when processes start, exec and end" },
	{ "CONFIG_NET", true, MF_HEALTH_BAD, "massif.ko cannot count the memory that users lock, and does not compile" },
	{ "CONFIG_PREEMPT_RT", false, MF_HEALTH_BAD, "massif.ko does not support it, and refuses to load" },
	{ "CONFIG_MMU_NOTIFIER", true, MF_HEALTH_NOTE, "--pages=resident is refused; mappings can be profiled" },
	{ "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", true, MF_HEALTH_NOTE,
	  "hooks are kretprobes, which slow the whole system down more" },
	{ "CONFIG_DEBUG_INFO_BTF", true, MF_HEALTH_NOTE, "massif.ko cannot check the arguments of what it hooks" },
	{ "CONFIG_MODULE_SIG_FORCE", false, MF_HEALTH_NOTE, "massif.ko must be signed with a key that the kernel trusts" },
	{ "CONFIG_TRIM_UNUSED_KSYMS", false, MF_HEALTH_NOTE,
	  "functions that massif.ko calls may have been removed; then it cannot be loaded" },
};

const size_t mf_n_kernel_options = sizeof(mf_kernel_options) / sizeof(mf_kernel_options[0]);

#define N_OPTIONS (sizeof(mf_kernel_options) / sizeof(mf_kernel_options[0]))

/*
 * Paths of configuration files: the first %s is the root directory, the second one the kernel's release. The first file that
 * can be read is used; that of the running kernel comes first.
 */
static const char *const places[] = {
	"%s/proc/config.gz",
	"%s/boot/config-%s",
	"%s/lib/modules/%s/config",
	"%s/lib/modules/%s/build/.config",
};

/* Notes which of the options a line of the configuration sets. Returns whether the line is about any option. */
static bool read_line(const char *line, bool set[N_OPTIONS])
{
	const char *value = strchr(line, '=');

	if (strncmp(line, "# CONFIG_", strlen("# CONFIG_")) == 0)
		return true;
	if (strncmp(line, "CONFIG_", strlen("CONFIG_")) != 0 || !value)
		return false;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const char *name = mf_kernel_options[i].name;

		if (strlen(name) == (size_t)(value - line) && strncmp(line, name, strlen(name)) == 0)
			set[i] = value[1] == 'y';
	}
	return true;
}

/* Reads a configuration file, compressed or not. Returns false if it cannot be read whole, or has no option. */
static bool read_file(const char *path, bool set[N_OPTIONS])
{
	gzFile file = gzopen(path, "re");
	bool begins = true, some = false;
	char line[256];
	int err;

	if (!file)
		return false;
	memset(set, 0, N_OPTIONS * sizeof(*set));
	while (gzgets(file, line, sizeof(line))) {
		/* Options with long texts as values come in several pieces. */
		if (begins)
			some |= read_line(line, set);
		begins = strchr(line, '\n');
	}
	gzerror(file, &err);
	return gzclose(file) == Z_OK && err == Z_OK && some;
}

static void report(const char *path, const bool set[N_OPTIONS], bool loaded, struct mf_finding *finding)
{
	enum mf_health worst = MF_HEALTH_OK;
	char *end = finding->advice;
	size_t room = sizeof(finding->advice);

	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct mf_kernel_option *option = &mf_kernel_options[i];
		int length;

		if (set[i] == option->wanted)
			continue;
		if (option->otherwise > worst)
			worst = option->otherwise;
		length = snprintf(end, room, "%s%s is %s: %s", end == finding->advice ? "" : "\n", option->name,
				  set[i] ? "set" : "not set", option->effect);
		if ((size_t)length < room) {
			end += length;
			room -= (size_t)length;
		}
	}
	if (worst == MF_HEALTH_BAD && !loaded)
		mf_finding_set(finding, MF_HEALTH_BAD, "massif.ko does not work on this kernel, says %s", path);
	else if (worst != MF_HEALTH_OK)
		mf_finding_set(finding, MF_HEALTH_NOTE, "this kernel lacks something, says %s%s", path,
			       loaded ? "; the module is loaded nevertheless" : "");
	else
		mf_finding_set(finding, MF_HEALTH_OK, "%s has all that massif.ko uses", path);
}

void mf_kernel_options_check(const char *root, const char *release, bool loaded, struct mf_finding *finding)
{
	bool set[N_OPTIONS];
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), places[i], root, release);
		if (read_file(path, set)) {
			report(path, set, loaded, finding);
			return;
		}
	}
	mf_finding_set(finding, MF_HEALTH_NOTE, "unknown: cannot read %s/proc/config.gz, %s/boot/config-%s, or the "
		       "configuration in %s/lib/modules/%s", root, root, release, root, release);
	mf_finding_advise(finding, "modprobe configs, or install the kernel's headers, to have its options checked");
}
