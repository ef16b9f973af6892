# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_searched: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a \
	| $(O)/selftests/targets/heap_ask $(O)/selftests/targets/heap_ask_nothing
