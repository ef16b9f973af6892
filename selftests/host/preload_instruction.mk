# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_instruction: $(O)/preload/patch/instruction.o
