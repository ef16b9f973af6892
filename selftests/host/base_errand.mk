# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/base_errand: $(O)/libmassif.a
