# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_stack_limit: $(O)/selftests/lib/ctl_run.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/ctl_stack_limit.o: MF_CFLAGS += -Wno-missing-prototypes
