# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_depth: $(O)/selftests/lib/ctl_run.o
