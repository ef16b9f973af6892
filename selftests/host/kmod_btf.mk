# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/kmod_btf: $(O)/kmod/btf.o
