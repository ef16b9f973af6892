# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_cfi: $(addprefix $(O)/userland/cfi/,index.o cie.o dwarf.o)
