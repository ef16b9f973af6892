#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# MariaDB: 200 clients at once, each with a thread of the server.
. "${0%/*}/lib.sh"
mkdir data
mariadb-install-db --no-defaults --user=root --datadir="$PWD/data" --auth-root-authentication-method=normal > install.log 2>&1
"$@" mariadbd --no-defaults --user=root --datadir="$PWD/data" --socket="$PWD/s" --skip-networking --max-connections=300 \
	--pid-file="$PWD/pid" > server.log 2>&1 &
server=$!
until_it_works 120 mariadb-admin --no-defaults -S "$PWD/s" ping
mariadb-slap --no-defaults -S "$PWD/s" --concurrency=200 --number-of-queries=2000 --auto-generate-sql --auto-generate-sql-load-type=mixed 2>&1 | grep -c 'Average number of seconds'
mariadb --no-defaults -S "$PWD/s" -e "create database d; use d; create table t(a int primary key, b text); insert into t select seq, repeat('x', seq % 100) from seq_1_to_5000; select count(*), sum(length(b)) from t;"
mariadb-admin --no-defaults -S "$PWD/s" shutdown
ended $server mariadbd
rm -rf data server.log install.log
