# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_tolerance: $(O)/libmassif.a
LDLIBS-model_tolerance := -lm
