# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_no_rules: $(O)/selftests/lib/ctl_run.o | $(O)/selftests/targets/heap_no_rules $(O)/selftests/targets/libheap_no_rules.so
