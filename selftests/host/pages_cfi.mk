# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_cfi: $(O)/userland/cfi/index.o
