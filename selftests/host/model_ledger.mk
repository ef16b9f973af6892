# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_ledger: $(O)/libmassif.a
