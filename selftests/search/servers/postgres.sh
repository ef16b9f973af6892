#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# PostgreSQL: 90 clients at once, each with a process of the server. PostgreSQL refuses to run as root.
. "${0%/*}/lib.sh"
bin=$(echo /usr/lib/postgresql/*/bin)
run() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 1777 .
run "$bin/initdb" -D data -U test --no-sync > install.log 2>&1
run "$@" "$bin/postgres" -D data -c listen_addresses= -c unix_socket_directories="$PWD" -c fsync=off > server.log 2>&1 &
server=$!
until_it_works 60 "$bin/pg_isready" -h "$PWD"
createdb() { "$bin/createdb" -h "$PWD" -U test "$@"; }
createdb t
"$bin/pgbench" -h "$PWD" -U test -i -q t > /dev/null 2>&1
"$bin/pgbench" -h "$PWD" -U test -c 90 -j 2 -t 10 t 2>&1 | grep 'actually processed'
"$bin/psql" -h "$PWD" -U test -At -c "select count(*), sum(length(md5(i::text))) from generate_series(1, 20000) i" t
kill -INT "$(head -1 data/postmaster.pid)"
ended $server postgres
rm -rf data server.log install.log
