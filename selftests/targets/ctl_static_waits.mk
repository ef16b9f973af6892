# SPDX-License-Identifier: GPL-2.0
CFLAGS-ctl_static_waits := -O1 -static
