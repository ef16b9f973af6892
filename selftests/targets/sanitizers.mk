# SPDX-License-Identifier: GPL-2.0
LDLIBS-sanitizers := -lpthread
