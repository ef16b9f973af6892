/* SPDX-License-Identifier: GPL-2.0 */
/* What is taken from a target's page tables: unmapped, given back, truncated, reclaimed. */
#ifndef MASSIF_ZAP_H
#define MASSIF_ZAP_H

#include <linux/types.h>

struct massif_target;
struct massif_zap;
struct mm_struct;

/* Has this kernel a way to be told? */
extern const bool massif_zap_available;

struct massif_zap *massif_zap_create(struct mm_struct *mm);
void massif_zap_aim(struct massif_zap *zap, struct massif_target *target);
void massif_zap_put(struct massif_zap *zap);
void massif_zap_exit(void);

#endif
