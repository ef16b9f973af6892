# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_log: $(O)/libmassif.a
