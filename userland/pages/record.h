/* SPDX-License-Identifier: GPL-2.0 */
/* Applies the records of the ring to the targets and processes of a session. */
#ifndef MASSIF_PAGES_RECORD_H
#define MASSIF_PAGES_RECORD_H

#include <linux/massif.h>
#include <stdint.h>

struct mf_error;
struct mf_pages;

/*
 * Applies @record. @gap is the number of records missing before it, according to the sequence numbers. Returns 0 or
 * -errno with a message in @err.
 */
int mf_record_apply(struct mf_pages *pages, const struct massif_record *record, uint64_t gap,
		    struct mf_error *err);

#endif
