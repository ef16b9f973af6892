# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/pages_known: $(O)/selftests/lib/ctl_run.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/guest/pages_known.o: MF_CFLAGS += -Wno-missing-prototypes
