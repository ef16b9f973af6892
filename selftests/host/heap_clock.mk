# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_clock: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/counter_broker.o $(O)/selftests/lib/heap_session.o $(LIBMASSIF)
