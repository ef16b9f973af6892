# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/fuzzers: $(O)/selftests/lib/ctl_run.o
