%% SPDX-License-Identifier: GPL-2.0
-module(work).
-export([main/0]).
%% 10,000 processes of the runtime, large binaries, a table.
main() ->
    Self = self(),
    [spawn(fun() -> Self ! {N, byte_size(list_to_binary(lists:duplicate(N, $x)))} end) || N <- lists:seq(1, 3000)],
    Sum = lists:sum([receive {N, S} -> S end || N <- lists:seq(1, 3000)]),
    Table = ets:new(t, [set]),
    [ets:insert(Table, {N, integer_to_list(N)}) || N <- lists:seq(1, 20000)],
    io:format("~p ~p~n", [Sum, ets:info(Table, size)]),
    halt(4).
