# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_limits: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a
LDLIBS-pages_limits := -lunwind-generic -lunwind -ldeflate -ldl
