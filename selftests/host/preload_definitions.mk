# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_definitions: $(O)/preload/core/definitions.o $(O)/preload/core/object_file.o $(O)/selftests/lib/ctl_run.o \
	| $(O)/selftests/targets/libheap_plugin_a.so $(O)/selftests/targets/libheap_plugin_b.so
LDLIBS-preload_definitions := -ldl
