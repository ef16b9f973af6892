# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_detour: $(O)/preload/detour.o $(O)/preload/instruction.o $(O)/preload/patch.o $(O)/preload/maps.o
