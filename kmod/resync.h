/* SPDX-License-Identifier: GPL-2.0 */
/* Resync: list all mappings of a target again after records were lost. */
#ifndef MASSIF_RESYNC_H
#define MASSIF_RESYNC_H

#include <linux/types.h>

struct massif_session;
struct massif_target;
struct mm_struct;

bool massif_resync(struct massif_target *target, struct mm_struct *mm, u32 reason);
int massif_resync_session(struct massif_session *session, u32 id, bool all, u32 *remaining);

#endif
