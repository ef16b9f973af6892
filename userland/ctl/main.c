// SPDX-License-Identifier: GPL-2.0
// Entry point of massif-ctl.

#include "ctl/cmd/command.h"
#include "ctl/launch/foreign_libraries.h"
#include "ctl/launch/launch.h"
#include "ctl/launch/main_stack.h"

int main(int argc, char **argv)
{
	mf_foreign_libraries_leave(argv);
	mf_launch_reserve_standard();
	return mf_main_stack_run(mf_command_dispatch, argc, argv);
}
