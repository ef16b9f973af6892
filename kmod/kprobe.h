/* SPDX-License-Identifier: GPL-2.0 */
/* Probes that the kernel was asked to let go of. */
#ifndef MASSIF_KPROBE_H
#define MASSIF_KPROBE_H

struct kprobe;

void massif_kprobe_free(const struct kprobe *probe, void *memory);

#endif
