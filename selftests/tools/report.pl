#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Reads the frames of run-batch.sh, judges the TAP output of the tests, and prints a line for each case:
# report.pl SUMMARY-FILE LANE...
#
# A lane is a file or pipe with the frames of tests that run one after another; lanes run side by side. The
# output of a test that failed is printed when it ends, and its end again after all tests: whoever sees only the
# last lines of a log needs the failures more than what was skipped. Before these, if the tests took minutes, are the
# tests that took longest, and when each lane ended. The last line is "N passed, M failed", with
# ", K skipped" if any were; it is also written to the summary file. The exit status is 0 only if nothing failed
# and something passed.
#
# If the environment has OUTPUT, the output of tests that passed is printed, too, when they end.
use strict;
use warnings;
use IO::Select;

$| = 1;

my $patience = 20;	# seconds of silence before we say what is going on
my $colour = -t STDOUT;

my ($passed, $failed, $skipped) = (0, 0, 0);
my @kernels;		# name, release, counts, and failed and skipped cases of each kernel
my @failures;		# texts and failed cases of failed tests, for the end
my @times;		# seconds and name of each test that has ended
my @ends;		# words that say when each lane ended
my $began = time;
my $slowest = 15;	# how many of these tests are listed
my $last_lines = 40;	# of a failed test's text at the end

# State of the lane whose frame is being read:
my $kernel;		# the kernel that runs now, or undef
my $test;		# the open test, or undef
my $doing;		# what the lane is doing, in words
my $since;		# the time when that began

sub paint {
	my ($code, $word) = @_;
	return $colour ? "\e[${code}m$word\e[0m" : $word;
}

my %verdict = (
	'ok'     => sub { $passed++;  return paint(32, 'ok    ') },
	'not ok' => sub { $failed++;  return paint(31, 'not ok') },
	'skip'   => sub { $skipped++; return paint(33, 'skip  ') },
);

sub case_line {
	my ($kind, $case, $why) = @_;
	my $mark = $verdict{$kind}->();
	my $text = "$test->{name}: $case";
	$text .= "  # $why" if defined $why && length $why;
	print "$mark $text\n";
	push @{$test->{bad}}, "not ok $text" if $kind eq 'not ok';
	if ($kernel) {
		$kernel->{$kind}++;
		push @{$kernel->{remarks}}, "$kind $text" if $kind ne 'ok';
	}
}

sub begin {
	my ($name) = @_;
	$name .= "\@$kernel->{name}" if $kernel;
	return if $test && $test->{name} eq $name;
	finish('none') if $test;
	$test = { name => $name, output => '', results => 0, errors => [], began => time };
	($doing, $since) = ("running $name", time);
}

# The harness prints the name of a case when it starts it, but not again when the case was skipped.
sub output {
	my ($line) = @_;
	return if !$test;
	$test->{output} .= "$line\n";
	if ($line =~ /^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?/i) {
		$test->{plan} = $1;
		$test->{skip_all} = $2 if $1 == 0 && defined $2;
	} elsif ($line =~ /^#\s+RUN\s+(\S+)/) {
		$test->{case} = $1;
	} elsif ($line =~ /^(not )?ok\b\s*\d*\s*-?\s*(.*)/) {
		my ($not, $rest) = ($1, $2);
		my $why;
		$why = $1 if $rest =~ s/#\s*SKIP\s*(.*)//i;
		$rest =~ s/\s+$//;
		my $case = length $rest ? $rest : $test->{case} // 'case ' . ($test->{results} + 1);
		$test->{results}++;
		case_line($not ? 'not ok' : defined $why ? 'skip' : 'ok', $case, $why);
	}
}

# Describes an exit status; as in a shell, above 128 it is a signal.
sub spell {
	my ($status) = @_;
	my %signals = (4 => 'SIGILL', 6 => 'SIGABRT', 7 => 'SIGBUS', 8 => 'SIGFPE', 9 => 'SIGKILL',
		       11 => 'SIGSEGV', 13 => 'SIGPIPE', 14 => 'SIGALRM', 15 => 'SIGTERM');
	return "exit status $status" if $status !~ /^\d+$/ || $status <= 128;
	my $signal = $status - 128;
	return 'killed by ' . ($signals{$signal} // "signal $signal");
}

# Returns the faults of a test as a whole, in addition to those that its cases have reported.
sub complaints {
	my ($status) = @_;
	my @found = @{$test->{errors}};
	my $plan = $test->{plan};

	push @found, 'the kernel log has bad lines' if $test->{kernel};
	push @found, 'its end was never reported' if $status eq 'none' && !@found;
	return @found if @found;

	if (!defined $plan) {
		push @found, 'no TAP plan, ' . spell($status);
	} elsif ($test->{results} != $plan) {
		push @found, "$test->{results} results of $plan planned, " . spell($status);
	} elsif ($plan == 0 && !defined $test->{skip_all}) {
		push @found, 'it planned no test';
	} elsif ($status != 0 && !$test->{bad} && !defined $test->{skip_all}) {
		push @found, spell($status);
	}
	return @found;
}

sub finish {
	my ($status) = @_;
	my @complaints = complaints($status);

	case_line('not ok', 'as a whole', join('; ', @complaints)) if @complaints;
	case_line('skip', 'all of it', $test->{skip_all}) if !@complaints && defined $test->{skip_all};
	if ($test->{bad}) {
		my $text = "---- $test->{name}\n$test->{output}";
		$text .= "---- $test->{name}, kernel log\n$test->{kernel}" if $test->{kernel};
		$text .= "---- $test->{name}: $_\n" for @complaints;
		print $text;
		push @failures, { text => $text, cases => $test->{bad} };
	} elsif ($test && $ENV{OUTPUT}) {
		print "---- $test->{name}\n$test->{output}";
	}
	push @times, [ time - $test->{began}, $test->{name} ] if $test;
	$test = undef;
	($doing, $since) = ('between tests', time);
}

# All tests from here on run on this machine.
sub host {
	finish('none') if $test;
	$kernel = undef;
}

# All tests from here on run on another kernel.
sub boot {
	my ($name, $release) = split / /, $_[0];

	finish('none') if $test;
	$kernel = { name => $name, release => $release, ok => 0, 'not ok' => 0, skip => 0, remarks => [] };
	push @kernels, $kernel;
}

sub print_kernels {
	printf "\n%-8s %-24s %8s %8s %8s\n", qw(kernel release passed failed skipped);
	for my $ran (@kernels) {
		printf "%-8s %-24s %8d %8d %8d\n", @$ran{qw(name release ok), 'not ok', 'skip'};
	}
	print map { "  $_\n" } map { @{$_->{remarks}} } @kernels;
}

# Lists the tests that took longest, unless all of them took only some minutes.
sub print_times {
	my @sorted = sort { $b->[0] <=> $a->[0] || $a->[1] cmp $b->[1] } @times;

	return if time - $began < 300;
	splice @sorted, $slowest if @sorted > $slowest;
	print "\nseconds of the slowest tests\n";
	printf "%7d  %s\n", @$_ for @sorted;
	print "$_\n" for @ends;
}

# Without the lines of the cases that passed; of a long text, the last lines.
sub print_failures {
	for my $failed (@failures) {
		my ($head, @text) = split /\n/, $failed->{text};
		my (@lines, @case);
		for my $line (@text) {
			push @case, $line;
			next if $line !~ /^(?:(?:not )?ok\b|----)/;
			push @lines, @case if $line !~ /^ok/;
			@case = ();
		}
		push @lines, @case;
		my $left_out = @lines - $last_lines;
		if ($left_out > 0) {
			splice @lines, 0, $left_out;
			$head .= ", $left_out earlier lines are above";
		}
		print "\n", map { "$_\n" } $head, @lines;
	}
	print "\n" if @failures;
	print map { "$_\n" } map { @{$_->{cases}} } @failures;
}

my %frames = (
	host   => \&host,
	boot   => \&boot,
	test   => \&begin,
	out    => \&output,
	kernel => sub { $test->{kernel} = ($test->{kernel} // '') . "$_[0]\n" if $test },
	error  => sub { push @{$test->{errors}}, $_[0] if $test },
	end    => sub { finish($_[0]) if $test },
	note   => sub { print "$_[0]\n"; ($doing, $since) = ($_[0], time) },
);

sub frame {
	my ($line) = @_;
	$line =~ s/\r$//;
	my ($word, $rest) = split /\t/, $line, 2;
	if (defined $word && defined $rest && $frames{$word}) {
		$frames{$word}->($rest);
	} else {
		# Not a frame but a message of the runner: pass it on.
		print "$line\n";
	}
}

sub in_lane {
	my ($lane, $action) = @_;
	my @state = qw(kernel test doing since);
	($kernel, $test, $doing, $since) = @$lane{@state};
	$action->();
	@$lane{@state} = ($kernel, $test, $doing, $since);
}

# Reads what has arrived. Returns false at the end of the lane. A line may come in parts.
sub follow {
	my ($lane) = @_;
	my $read = sysread $lane->{file}, $lane->{text}, 65536, length $lane->{text};
	die "$lane->{name}: $!\n" if !defined $read;
	$lane->{text} .= "\n" if !$read && length $lane->{text};
	in_lane($lane, sub {
		frame($1) while $lane->{text} =~ s/^(.*)\n//;
		finish('none') if !$read && $test;
	});
	return $read;
}

$SIG{INT} = 'IGNORE';	# the runners stop, and we still report

my $summary = shift;
my %lanes;		# lanes that have not ended, by file descriptor
my $waiting = IO::Select->new;
for my $name (@ARGV) {
	open my $file, '<', $name or die "$name: $!\n";
	$lanes{fileno $file} = { name => $name, file => $file, text => '', doing => 'starting', since => time };
	$waiting->add($file);
}
while (%lanes) {
	my @ready = $waiting->can_read($patience);
	if (!@ready) {
		printf "       ... %s, for %d s now\n", $_->{doing}, time - $_->{since}
			for map { $lanes{$_} } sort { $a <=> $b } keys %lanes;
	}
	for my $file (@ready) {
		next if follow($lanes{fileno $file});
		$waiting->remove($file);
		push @ends, sprintf '%7d  a lane ended', time - $began;
		delete $lanes{fileno $file};
	}
}

print_times();
print_kernels() if @kernels;
print_failures();
print 'nothing ran', ($ENV{TESTS} ? " that matches TESTS='$ENV{TESTS}'" : ''), "\n"
	if $passed + $failed + $skipped == 0;
my $sum = "$passed passed, $failed failed" . ($skipped ? ", $skipped skipped" : '') . "\n";
print $sum;
open my $file, '>', $summary or die "$summary: $!\n";
print $file $sum;
close $file or die "$summary: $!\n";
exit($failed || !$passed ? 1 : 0);
