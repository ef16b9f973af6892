# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_patch: $(O)/preload/patch/patch.o $(O)/preload/core/maps.o $(O)/selftests/lib/code_memory.o $(O)/selftests/lib/refuse_protection.o
