# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_rowcache: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a \
	| $(O)/selftests/targets/heap_stacks $(O)/selftests/targets/heap_no_id
