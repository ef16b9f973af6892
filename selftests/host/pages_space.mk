# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_space: $(O)/userland/pages/space.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/pages_space.o: MF_CFLAGS += -Wno-missing-prototypes
