# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_replaced: $(addprefix $(O)/userland/,base/held.o base/regular.o) $(O)/selftests/lib/ctl_run.o
LDLIBS-symbols_replaced := -lpthread
