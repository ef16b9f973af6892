/* SPDX-License-Identifier: GPL-2.0 */
/* Frees kprobes that have been unregistered. */
#ifndef MASSIF_KPROBE_H
#define MASSIF_KPROBE_H

struct kprobe;

void massif_kprobe_free(const struct kprobe *probe, void *memory);

#endif
