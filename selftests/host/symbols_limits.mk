# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_limits: $(O)/selftests/lib/ctl_run.o $(LIBMASSIF)
LDLIBS-symbols_limits := $(LIBMASSIF_LIBS)
