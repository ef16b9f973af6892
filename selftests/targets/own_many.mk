# SPDX-License-Identifier: GPL-2.0
LDLIBS-own_many := -ldl
