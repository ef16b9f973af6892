#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A node of ROS (inputs/node.cc), with a master.
. "${0%/*}/lib.sh"
export ROS_MASTER_URI="http://127.0.0.1:$port" ROS_IP=127.0.0.1 ROS_HOME="$PWD/tmp" ROSCONSOLE_STDOUT_LINE_BUFFERED=1
rosmaster --core -p "$port" > /dev/null 2>&1 &
master=$!
until_it_works 60 bash -c ": > /dev/tcp/127.0.0.1/$port"
"$@" ./node
echo "the node ended with $?"
kill "$master"
wait "$master"
rm -rf node tmp
mkdir tmp
