# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/client_header: $(O)/selftests/lib/ctl_run.o
$(O)/selftests/host/client_header.o: MF_CFLAGS += -DSOURCE='"$(CURDIR)"'
