# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_threads: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/heap_session.o $(LIBMASSIF)
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/heap_limits.o: MF_CFLAGS += -Wno-missing-prototypes
