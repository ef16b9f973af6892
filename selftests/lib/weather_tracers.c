// SPDX-License-Identifier: GPL-2.0
// Disturbances: other tracers attach to the functions that massif.ko hooks, and detach again.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "selftests/lib/tracers.h"
#include "selftests/lib/weather.h"

/*
 * Functions that massif.ko hooks in different ways (detour or kretprobe, fault hook, kprobe), and one without a hook.
 */
static const char *const functions[] = {
	"mmap_region", "handle_mm_fault", "exit_mmap", "populate_vma_page_range", "find_vma",
};

#define FUNCTIONS	(sizeof(functions) / sizeof(functions[0]))

static long effects;

static long effects_now(void)
{
	return effects;
}

static void for_a_while(unsigned int round)
{
	usleep(round % 7 * 5 * 1000);
}

static bool missing(int err)
{
	return err == -ENOENT || err == -EINVAL || err == -ENODEV;
}

/* Disturbance: kprobes are attached to the functions that massif.ko hooks. */

static const char *begin_kprobes(struct member *member)
{
	int err = tracers_start_kprobe("mmap_region");

	tracers_stop_kprobe();
	effects = 0;
	return missing(err) ? "kprobe_events" : NULL;
}

static void blow_kprobes(struct member *member, unsigned int round)
{
	const char *function = functions[round % FUNCTIONS];

	switch (round % 3) {
	case 0: effects += !tracers_start_kprobe(function); break;
	case 1: effects += !tracers_start_kretprobe(function); break;
	case 2: effects += !tracers_start_inside(function); break;
	}
	for_a_while(round);
	tracers_stop_kprobe();
	for_a_while(round / 7);
}

static bool end_kprobes(struct member *member)
{
	tracers_stop_kprobe();
	return true;
}

const struct weather weather_kprobes = {
	.rounds = FUNCTIONS,
	.begin = begin_kprobes, .blow = blow_kprobes, .effects = effects_now, .end = end_kprobes,
};

/* Disturbance: ftrace tracers are attached to the functions that massif.ko hooks. */

static const char *begin_ftrace(struct member *member)
{
	int err = tracers_start_function("mmap_region");

	tracers_stop_tracer();
	effects = 0;
	return missing(err) ? "function tracer" : NULL;
}

static void blow_ftrace(struct member *member, unsigned int round)
{
	const char *function = functions[round % FUNCTIONS];

	effects += !(round % 2 ? tracers_start_graph(function) : tracers_start_function(function));
	for_a_while(round);
	tracers_stop_tracer();
	/* In every eighth round, trace all kernel functions whose names contain "mm". */
	if (round % 8 == 7 && !tracers_put("set_ftrace_filter", "*mm*")) {
		effects += !tracers_put("current_tracer", "function");
		for_a_while(round);
		tracers_stop_tracer();
	}
}

static bool end_ftrace(struct member *member)
{
	tracers_stop_tracer();
	tracers_put("trace", "");
	return true;
}

const struct weather weather_ftrace = {
	.rounds = FUNCTIONS,
	.begin = begin_ftrace, .blow = blow_ftrace, .effects = effects_now, .end = end_ftrace,
};

/* Disturbance: BPF programs are attached to the functions that massif.ko hooks. */

static const char *begin_bpf(struct member *member)
{
	int err = tracers_start_fentry("find_vma");

	tracers_stop_fentry();
	effects = 0;
	return missing(err) ? "BPF at the entry of functions" : NULL;
}

/*
 * Attaches a BPF program to the entry of a function. Must fail for a function that massif.ko hooks with a direct call
 * of its own, and succeed for all others.
 */
static void blow_bpf(struct member *member, unsigned int round)
{
	effects += !tracers_start_fentry(functions[round % FUNCTIONS]);
	for_a_while(round);
	tracers_stop_fentry();
}

static bool end_bpf(struct member *member)
{
	tracers_stop_fentry();
	return true;
}

const struct weather weather_bpf = {
	.rounds = FUNCTIONS,
	.begin = begin_bpf, .blow = blow_bpf, .effects = effects_now, .end = end_bpf,
};
