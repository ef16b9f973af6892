/* SPDX-License-Identifier: GPL-2.0 */
/* The release number of the module, for modinfo and MASSIF_IOC_QUERY. */
#ifndef MASSIF_RELEASE_H
#define MASSIF_RELEASE_H

#define MASSIF_RELEASE	"0.2"

#endif
