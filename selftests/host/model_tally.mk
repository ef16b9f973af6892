# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_tally: $(O)/libmassif.a
