# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_detour: $(O)/preload/patch/code_detour.o $(O)/preload/patch/instruction.o $(O)/preload/patch/patch.o $(O)/preload/core/maps.o $(O)/selftests/lib/code_memory.o
