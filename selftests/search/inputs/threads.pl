# SPDX-License-Identifier: GPL-2.0
# Interpreter threads (each clones the whole heap), forks, local sockets, sorting.
use threads;
use Socket;
my @threads = map { my $n = $_; threads->create(sub { my %h = map { $_ * $n => "v$_" } 1 .. 500; scalar keys %h }) } 1 .. 40;
my $sum = 0;
$sum += $_->join for @threads;
print "$sum\n";
for my $n (1 .. 20) {
	my $pid = fork // die;
	exit($n) unless $pid;
	waitpid($pid, 0);
	$sum += $? >> 8;
}
print "$sum\n";
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
syswrite($a, "x" x 10000);
sysread($b, my $text, 10000);
print length($text), " ", join(",", (sort { $b <=> $a } map { $_ * 7919 % 1009 } 1 .. 1000)[0 .. 5]), "\n";
