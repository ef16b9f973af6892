# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_flags: $(O)/selftests/lib/ctl_run.o
