# SPDX-License-Identifier: GPL-2.0
# What is installed of the documentation.

INSTALL_MAN += $(wildcard Documentation/*.[1-8])
