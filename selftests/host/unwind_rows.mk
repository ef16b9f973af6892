# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/unwind_rows: $(O)/libmassif.a
