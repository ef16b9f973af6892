/* SPDX-License-Identifier: GPL-2.0 */
/* Do the armed hooks fire? */
#ifndef MASSIF_HOOKTEST_H
#define MASSIF_HOOKTEST_H

#include <linux/types.h>

#include "mapping.h"

struct massif_session;

int massif_hooktest_run(const char **dead);
int massif_hooktest_join(struct massif_session *session);
int massif_hooktest_tell(bool special, const char **dead);
void massif_hooktest_close(struct massif_session *session);

void massif_hooktest_saw(enum massif_hook hook);
bool massif_hooktest_seen(enum massif_hook hook);

#endif
