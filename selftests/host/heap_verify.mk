# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_verify: $(O)/selftests/lib/ctl_run.o | $(O)/selftests/targets/heap_stacks $(O)/selftests/targets/heap_no_index $(O)/selftests/targets/heap_links \
	$(O)/selftests/targets/heap_verify_where $(O)/selftests/targets/libheap_name_space.so \
	$(O)/selftests/targets/heap_small_stacks $(O)/selftests/targets/heap_split_stack \
	$(addprefix $(O)/selftests/bench/,churn deep mt tree exc)
