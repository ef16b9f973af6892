/* SPDX-License-Identifier: GPL-2.0 */
/* Draws memory over time with characters. */
#ifndef MASSIF_CTL_CURVE_H
#define MASSIF_CTL_CURVE_H

#include "ctl/query/terminal.h"
#include "profile/profile.h"

/* Draws the total of @profile over time, in @rows rows as wide as the terminal, with labels at the axes. */
void mf_curve_draw(const struct mf_terminal *terminal, const struct mf_profile *profile, unsigned int rows);

#endif
