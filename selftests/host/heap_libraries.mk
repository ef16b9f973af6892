# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_libraries: $(O)/selftests/lib/ctl_run.o | $(addprefix $(O)/selftests/targets/,heap_reload \
	heap_load_many libheap_plugin_a.so libheap_plugin_b.so libheap_requests.so libheap_no_index.so)
