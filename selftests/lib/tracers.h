/* SPDX-License-Identifier: GPL-2.0 */
/* Other users of a kernel function that massif.ko hooks: kprobes, ftrace's tracers, BPF. One at a time. */
#ifndef SELFTESTS_LIB_TRACERS_H
#define SELFTESTS_LIB_TRACERS_H

/* Each 0 or -errno: -ENOENT, -EINVAL or -ENODEV if this kernel has no such tracer, or not of this function. */
int tracers_start_kprobe(const char *function);
int tracers_start_kretprobe(const char *function);
/* Behind ftrace's own instruction. */
int tracers_start_inside(const char *function);
int tracers_start_function(const char *function);
int tracers_start_graph(const char *function);
int tracers_start_fentry(const char *function);

/* Of the kprobes, of the tracers, of BPF. They may follow a start that failed. */
void tracers_stop_kprobe(void);
void tracers_stop_tracer(void);
void tracers_stop_fentry(void);

/* Writes to a file of tracefs; an empty text empties it. 0 or -errno. */
int tracers_put(const char *file, const char *text);
/* How many lines of a file of tracefs have the word. */
long tracers_lines(const char *file, const char *word);

#endif
