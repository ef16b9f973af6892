/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the ARGS record of the current process. */
#ifndef MASSIF_ARGS_H
#define MASSIF_ARGS_H

struct massif_target;

void massif_args_write(struct massif_target *target);

#endif
