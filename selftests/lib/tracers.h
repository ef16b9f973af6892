/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Controls other tracers of a kernel function that massif.ko hooks: kprobes, ftrace tracers, BPF. Start only one at a
 * time.
 */
#ifndef MASSIF_SELFTESTS_TRACERS_H
#define MASSIF_SELFTESTS_TRACERS_H

/*
 * Each start function returns 0 or -errno: -ENOENT, -EINVAL or -ENODEV if the kernel has no such tracer, or the tracer
 * does not support this function.
 */
int tracers_start_kprobe(const char *function);
int tracers_start_kretprobe(const char *function);
/* Starts a kprobe inside @function, after its ftrace instruction. */
int tracers_start_inside(const char *function);
int tracers_start_function(const char *function);
int tracers_start_graph(const char *function);
int tracers_start_fentry(const char *function);

/* Stop the kprobes, the ftrace tracer and the BPF program. These functions may be called even if starting failed. */
void tracers_stop_kprobe(void);
void tracers_stop_tracer(void);
void tracers_stop_fentry(void);

/* Writes a string to a file in tracefs; an empty string truncates the file. Returns 0 or -errno. */
int tracers_put(const char *file, const char *text);
/* Returns how many lines of a tracefs file contain @word. */
long tracers_lines(const char *file, const char *word);

#endif
