# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_limits: $(O)/selftests/lib/ctl_run.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/heap_limits.o: MF_CFLAGS += -Wno-missing-prototypes
