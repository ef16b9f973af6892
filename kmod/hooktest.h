/* SPDX-License-Identifier: GPL-2.0 */
/* Hook tests: check that the armed hooks fire. */
#ifndef MASSIF_HOOKTEST_H
#define MASSIF_HOOKTEST_H

#include <linux/types.h>

#include "mapping.h"

struct massif_session;
struct massif_target;

int massif_hooktest_join(struct massif_session *session);
int massif_hooktest_tell(struct massif_session *session, bool special, bool stack, const char **dead);
void massif_hooktest_close(struct massif_session *session);

void massif_hooktest_reset(void);
void massif_hooktest_saw(const struct massif_target *target, enum massif_hook hook);
bool massif_hooktest_seen(enum massif_hook hook);

#endif
