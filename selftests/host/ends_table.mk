# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ends_table: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/massif_text.o \
	$(O)/selftests/lib/counter_broker.o
# The harness's FIXTURE_SETUP defines functions that nothing declares.
$(O)/selftests/host/ends_table.o: MF_CFLAGS += -Wno-missing-prototypes
