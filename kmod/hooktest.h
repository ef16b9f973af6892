/* SPDX-License-Identifier: GPL-2.0 */
/* Do the armed hooks fire? */
#ifndef MASSIF_HOOKTEST_H
#define MASSIF_HOOKTEST_H

int massif_hooktest_run(const char **dead);

#endif
