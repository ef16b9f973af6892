# SPDX-License-Identifier: GPL-2.0
# Inlined calls and clones come with optimisation; addresses that do not move, without PIE.
CFLAGS-symbols_names := -g -O2 -no-pie
LDLIBS-symbols_names := -lpthread
