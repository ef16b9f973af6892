# SPDX-License-Identifier: GPL-2.0
# Makes an index of the words in the files of a directory: words.pl DIRECTORY
use strict;
use warnings;

# For each word, the places where it stands.
sub index_words {
	my %places;

	for my $file (@_) {
		open my $in, '<', $file or die "$file: $!\n";
		while (my $line = <$in>) {
			push @{$places{lc $1}}, "$file:$." while $line =~ /([[:alpha:]]+)/g;
		}
		close $in;
	}
	return \%places;
}

sub most_used {
	my ($places, $count) = @_;
	my @words = sort { @{$places->{$b}} <=> @{$places->{$a}} || $a cmp $b } keys %$places;
	return @words[0 .. $count - 1];
}

die "usage: words.pl DIRECTORY\n" if @ARGV != 1;
my @files = grep { -f } glob "$ARGV[0]/*";
my $places = index_words(@files);
printf "%d words in %d files; most used: %s\n",
	scalar keys %$places, scalar @files, join ' ', most_used($places, 5);
