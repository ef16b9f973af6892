# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/ends_pages: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/massif_text.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/guest/ends_pages.o: MF_CFLAGS += -Wno-missing-prototypes
