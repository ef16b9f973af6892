# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/unwind_elfmap: $(O)/selftests/lib/ctl_run.o $(O)/libmassif.a \
	| $(O)/selftests/targets/heap_stacks
