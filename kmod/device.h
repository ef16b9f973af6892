/* SPDX-License-Identifier: GPL-2.0 */
/* The device /dev/massif. */
#ifndef MASSIF_DEVICE_H
#define MASSIF_DEVICE_H

int massif_device_init(void);
void massif_device_exit(void);

#endif
