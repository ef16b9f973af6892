# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_known: $(O)/selftests/lib/kmod_session.o
# Frames as the assembler leaves them, and no two functions made one.
$(O)/selftests/guest/kmod_known.o: MF_CFLAGS += -fno-ipa-icf
