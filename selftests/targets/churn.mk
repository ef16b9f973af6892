# SPDX-License-Identifier: GPL-2.0
CFLAGS-churn := -g -O1
LDLIBS-churn := -lpthread
