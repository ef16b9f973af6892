/* SPDX-License-Identifier: GPL-2.0 */
/* Constants of our format for unwind rules (index.h). */
#ifndef MASSIF_CFI_FORM_H
#define MASSIF_CFI_FORM_H

#include <dwarf.h>

#define MF_CFI_VERSION	   1u
#define MF_CFI_ENCODING	   DW_EH_PE_udata4
#define MF_CFI_SPARE_BYTES 16u /* padding after the last entry, because libunwind may read past its end */

#endif
