// SPDX-License-Identifier: GPL-2.0
// Controls other tracers of the kernel functions that massif.ko hooks: kprobes, ftrace tracers, BPF.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "selftests/lib/bpf_fentry.h"
#include "selftests/lib/tracers.h"

#define TRACING	"/sys/kernel/tracing/"

int tracers_put(const char *file, const char *text)
{
	char path[128];
	int fd, err;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC | (*text ? 0 : O_TRUNC));
	if (fd < 0)
		return -errno;
	err = *text && write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

long tracers_lines(const char *file, const char *word)
{
	char path[128], line[512];
	long count = 0;
	FILE *from;

	snprintf(path, sizeof(path), TRACING "%s", file);
	from = fopen(path, "r");
	while (from && fgets(line, sizeof(line), from))
		count += line[0] != '#' && strstr(line, word);
	if (from)
		fclose(from);
	return count;
}

/* Creates and enables one event of the kernel's kprobe tracer. @kind is "p" for a kprobe or "r" for a kretprobe. */
static int start_event(const char *kind, const char *name, const char *function)
{
	char text[128];
	int err;

	snprintf(text, sizeof(text), "%s:massif_other/%s %s\n", kind, name, function);
	err = tracers_put("kprobe_events", text);
	if (err)
		return err;
	snprintf(text, sizeof(text), "events/massif_other/%s/enable", name);
	return tracers_put(text, "1");
}

int tracers_start_kprobe(const char *function)
{
	return start_event("p", "entry", function);
}

int tracers_start_kretprobe(const char *function)
{
	return start_event("r", "return", function);
}

/* There may be an endbr64 before the ftrace instruction, so try two offsets. */
int tracers_start_inside(const char *function)
{
	char text[128];

	snprintf(text, sizeof(text), "%s+5", function);
	if (!start_event("p", "inside", text))
		return 0;
	snprintf(text, sizeof(text), "%s+9", function);
	return start_event("p", "inside", text) ? -EIO : 0;
}

void tracers_stop_kprobe(void)
{
	tracers_put("events/massif_other/enable", "0");
	tracers_put("kprobe_events", "");
}

static int start_tracer(const char *tracer, const char *function)
{
	char text[128];

	snprintf(text, sizeof(text), "%s exit_mmap", function);
	return tracers_put("set_ftrace_filter", text) ?: tracers_put("current_tracer", tracer);
}

int tracers_start_function(const char *function)
{
	return start_tracer("function", function);
}

int tracers_start_graph(const char *function)
{
	return start_tracer("function_graph", function);
}

void tracers_stop_tracer(void)
{
	tracers_put("current_tracer", "nop");
	tracers_put("set_ftrace_filter", "");
}

static int link_fd = -1;

int tracers_start_fentry(const char *function)
{
	link_fd = bpf_fentry(function);
	return link_fd < 0 ? link_fd : 0;
}

void tracers_stop_fentry(void)
{
	if (link_fd >= 0)
		close(link_fd);
	link_fd = -1;
}
