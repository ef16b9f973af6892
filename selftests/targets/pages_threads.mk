# SPDX-License-Identifier: GPL-2.0
LDLIBS-pages_threads := -lpthread
