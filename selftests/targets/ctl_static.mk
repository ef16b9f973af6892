# SPDX-License-Identifier: GPL-2.0
CFLAGS-ctl_static := -O1 -static
