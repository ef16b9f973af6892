# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_clock: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/counter_broker.o
