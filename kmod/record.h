/* SPDX-License-Identifier: GPL-2.0 */
/* Writes records into a session's ring, and counts them as lost if the ring is full. */
#ifndef MASSIF_RECORD_H
#define MASSIF_RECORD_H

#include <linux/massif.h>
#include <linux/types.h>

struct massif_session;
struct massif_target;

void massif_record_init(struct massif_record *rec, u32 type, size_t size,
			struct massif_session *session, struct massif_target *target);
bool massif_record_try(struct massif_session *session, struct massif_target *target,
		       void *records, size_t bytes);
bool massif_record_try_stack(struct massif_session *session, struct massif_target *target,
			     struct massif_rec_stack *rec);
bool massif_record_write(struct massif_session *session, struct massif_target *target,
			 struct massif_record *rec, bool urgent);
bool massif_record_write_irqsoff(struct massif_session *session, struct massif_target *target,
				 struct massif_record *rec, bool urgent);
void massif_record_write_exit(struct massif_target *target, struct massif_rec_exit *rec, bool removed);
void massif_record_lost(struct massif_session *session, struct massif_target *target, u32 reason,
			u64 count);
void massif_record_flush(struct massif_session *session, struct massif_target *target);

#endif
