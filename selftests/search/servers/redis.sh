#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Redis: 200 clients at once, a background save (a forked child), a shutdown that saves.
. "${0%/*}/lib.sh"
"$@" redis-server --port 0 --unixsocket "$PWD/s" --dir "$PWD" --save '' --io-threads 4 > server.log 2>&1 &
server=$!
until_it_works 60 redis-cli -s s ping
redis-benchmark -s s -q -c 200 -n 10000 -t set,get,lpush,zadd,mset 2>&1 | grep -c 'requests per second'
redis-cli -s s eval "for i = 1, 5000 do redis.call('set', 'k' .. i, string.rep('x', i % 200)) end return redis.call('dbsize') > 5000" 0
redis-cli -s s bgsave
until_it_works 60 sh -c "redis-cli -s s info persistence | grep -q 'rdb_bgsave_in_progress:0'"
redis-cli -s s info persistence | grep -o 'rdb_last_bgsave_status:[a-z]*'
redis-cli -s s shutdown nosave
ended $server redis-server
rm -f server.log dump.rdb
