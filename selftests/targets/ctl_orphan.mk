# SPDX-License-Identifier: GPL-2.0
LDLIBS-ctl_orphan := -lpthread
