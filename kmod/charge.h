/* SPDX-License-Identifier: GPL-2.0 */
/* Charges the memory of a session to its user, against RLIMIT_MEMLOCK. */
#ifndef MASSIF_CHARGE_H
#define MASSIF_CHARGE_H

struct massif_session;

int massif_charge(struct massif_session *session, unsigned long pages);
void massif_uncharge(struct massif_session *session);

#endif
