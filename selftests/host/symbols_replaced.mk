# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_replaced: $(O)/userland/symbols/held.o $(O)/selftests/lib/ctl_run.o
LDLIBS-symbols_replaced := -lpthread
