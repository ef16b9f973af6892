/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a running process a member of a session, through the ENROL and ATTACH ioctls. */
#ifndef MASSIF_ATTACH_H
#define MASSIF_ATTACH_H

#include <linux/types.h>

struct massif_session;

int massif_enrol(struct massif_session *session, u32 *id);
int massif_attach(struct massif_session *session, pid_t nr, u32 *id);

#endif
