# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_names: $(O)/selftests/lib/ctl_run.o | $(addprefix $(O)/selftests/targets/, \
	heap_map diff_frames diff_new diff_stripped)
