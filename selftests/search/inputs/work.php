<?php
// SPDX-License-Identifier: GPL-2.0
$a = [];
for ($i = 0; $i < 50000; $i++) $a["k$i"] = md5((string)$i);
ksort($a);
echo count($a), ' ', md5(implode(',', $a)), "\n";
echo strlen(json_encode($a)), ' ', count(json_decode(json_encode($a), true)), "\n";
$pid = function_exists('pcntl_fork') ? pcntl_fork() : -1;
if ($pid === 0) { echo str_repeat('c', 10), "\n"; exit(3); }
if ($pid > 0) { pcntl_waitpid($pid, $status); echo pcntl_wexitstatus($status), "\n"; }
echo preg_match_all('/[0-9]+a/', implode(' ', $a)), "\n";
