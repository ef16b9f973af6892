// SPDX-License-Identifier: GPL-2.0
// The table of massif-ctl's commands.

#include "command.h"
#include "ctl/options/nearest.h"

#include <stdbool.h>
#include <string.h>

/* Help text shared by the commands that read a running profile. */
#define SNAPSHOT_DETAILS(file)                                                                     \
	"  Writes to the file, " file " by default; - is standard output. If several profiles are\n" \
	"  running, --pid selects one; massif-ctl list shows them. The program and its profile go on\n" \
	"  unchanged.\n"

static const char *const attach_words[] = { "--duration", NULL };
static const char *const snapshot_words[] = { "--pid", NULL };
static const char *const doctor_words[] = { "--mode", NULL };

const struct mf_command mf_commands[] = {
	{ "run", "run [options] [--] program arguments...", "run a program and profile it",
	  mf_command_run, .has_options = true },
	{ "record", "record [options] [--] program arguments...", "run a program and record its whole profile",
	  mf_command_record, .has_options = true },
	{ "show", "show [options] FILE", "show what a recording says, on one screen",
	  mf_command_show,
	  "  Prints the program, its peak, what it held at the end, a curve of its memory over time, and the ten\n"
	  "  sites that held most at the peak. If several processes were recorded, lists them and shows the sites of\n"
	  "  all together; --pid=PID shows one.\n"
	  "    --by=site|function|place|file|library|stack|thread|thread-name|allocator|process   what a row of\n"
	  "                      the table is (site, function, ...: of the innermost call outside of std:: and the like)\n"
	  "    --all-calls       do not leave out calls of the standard libraries of C++ and Rust\n"
	  "    --inclusive       count a stack for all its calls, not only for the innermost: what main and all the\n"
	  "                      others have allocated together with what they call\n"
	  "    --sort=peak|blocks|end|growth|calls|allocated|temporary|largest   the number by which the table is sorted\n"
	  "    --leaks           the same as --sort=end: what is held at the end comes first\n"
	  "    --tree            show the call tree instead of the table\n"
	  "    --rss             show what the resident set consisted of at its peak; needs --rss=yes when recording\n"
	  "    --sizes           show how many blocks of which sizes were allocated; with --by, by which code\n"
	  "    --lifetimes[=bytes|allocations]   show how long blocks lived: what the program allocated in the meantime, or\n"
	  "                      how many blocks their thread did; needs --record-detail=full\n"
	  "    --temporary=N     count blocks as temporary that were freed after at most N (0, 1, 3, 7, ...) other\n"
	  "                      allocations of their thread; needs --record-detail=full\n"
	  "    --at=peak|end|N|TIME   the moment that the first column shows; TIME is 300ms, 1.5s, 20Mi or 10MB\n"
	  "    --top=N           number of rows\n"
	  "    --filter=REGEX    only rows that match this extended regular expression\n"
	  "    --through=FUNCTION   only stacks with a call of such a function; * and ? stand for any text, character\n"
	  "    --thread=NAME|TID    only what these threads have allocated; needs --separate-threads=yes\n"
	  "  On a terminal, long output goes to $MASSIF_PAGER, $PAGER or less. With NO_COLOR set, there are no colours.\n",
	  .words = mf_command_show_words },
	{ "diff", "diff [options] OLD NEW", "show what has changed between two recordings",
	  mf_command_diff,
	  "  Compares peak, end and calls, and the sites that hold memory at the peak. Sites are matched by function\n"
	  "  and file, not by address or line, so that a program can be compared with an older build. Of several\n"
	  "  processes, all are compared together; --pid=PID chooses one.\n"
	  "    --by=place|site|function|file|library|stack|thread-name|process   what a row of the table is\n"
	  "    --inclusive       count a stack for all its calls, not only for the innermost\n"
	  "    --all-calls       do not leave out calls of the standard libraries of C++ and Rust\n"
	  "    --at=peak|end     the moment whose sites are compared\n"
	  "    --value=calls|allocated|temporary|live-blocks   compare these numbers of the sites, not their bytes;\n"
	  "                      of recordings with --rss=yes also --value=resident|untouched|pinned\n"
	  "    --temporary=N     with --value=temporary: blocks freed after at most N (0, 1, 3, 7, ...) other allocations\n"
	  "                      of their thread\n"
	  "    --min=SIZE        hide smaller changes (4K, 1M)\n"
	  "    --top=N           number of rows, 20 by default\n"
	  "    --filter=REGEX    only rows that match this extended regular expression\n"
	  "    --through=FUNCTION, --thread=NAME   only such stacks\n"
	  "    --tolerance=PCT   growth of peak and end up to this percentage is none\n"
	  "  The exit status is 0 if neither the peak nor the end has grown, 1 if one has, 2 if something is wrong.\n",
	  .words = mf_command_diff_words },
	{ "export", "export [--to=FORMAT] [options] FILE", "write a recorded profile for another program",
	  mf_command_export,
	  "  Writes the recording FILE (massif-ctl record) in another format to standard output, or to the file\n"
	  "  given with -o. FORMAT is one of\n"
	  "    massif      all snapshots, as massif-ctl run writes them (the default); for ms_print and\n"
	  "                massif-visualizer\n"
	  "    collapsed   a line for each stack, for flamegraph.pl and other programs that draw flame graphs\n"
	  "    speedscope  for speedscope\n"
	  "    pprof       for go tool pprof\n"
	  "    callgrind   for callgrind_annotate and KCachegrind\n"
	  "    json        all snapshots and counts, for programs of one's own\n"
	  "  All but massif and json contain one snapshot: the peak, or with --at=end the end, or with\n"
	  "  --at=N snapshot N; --value=calls|allocated|temporary|live-blocks makes collapsed and speedscope\n"
	  "  write this number of each stack instead of its bytes, and of recordings with --rss=yes also\n"
	  "  --value=resident|untouched|pinned; --through and --thread select stacks. --temporary=N (0, 1, 3, 7,\n"
	  "  ...) makes blocks temporary that were freed after at most N other allocations of their thread.\n"
	  "  If several processes were recorded, --pid=PID chooses one. The options about trees apply as if they\n"
	  "  had been given to massif-ctl record: --threshold, --depth, --alloc-fn, --show-below-main,\n"
	  "  --sym-offsets, --fullpath-after, --keep-debuginfo.\n",
	  .words = mf_command_export_words },
	{ "report", "report [options] FILE [OLD]", "write a page with charts and tables, for browsers",
	  mf_command_report,
	  "  Writes one HTML file that any browser opens, without a network or a server: the memory over time, a flame\n"
	  "  graph of any detailed snapshot, of leaks, of growth between two moments and of temporary blocks, and\n"
	  "  tables. With OLD, an older recording of the program, the page also shows what has changed since.\n"
	  "    -o FILE           write to FILE instead of the recording's name with .html after it, in the current\n"
	  "                      directory; - is standard output\n"
	  "    --pid=PID         only this process of the recording\n"
	  "    --through=FUNCTION, --thread=NAME|TID   only such stacks\n"
	  "    --temporary=N     count blocks as temporary that were freed after at most N (0, 1, 3, 7, ...) other\n"
	  "                      allocations of their thread\n"
	  "  The options about trees apply as to massif-ctl export. Of very many stacks the smallest are added up, so\n"
	  "  that the file has at most 3 MB; the page says how many these are.\n",
	  .words = mf_command_report_words },
	{ "check", "check [options] FILE", "compare a recording with budgets, for tests and CI",
	  mf_command_check,
	  "  Prints a line for each budget and process, and for a budget that is exceeded the sites that have most.\n"
	  "    --max-peak=SIZE, --max-end=SIZE           bytes held at the peak, at the end (64K, 1M)\n"
	  "    --max-allocations=N, --max-allocated=SIZE   blocks allocated since the start, and their sizes\n"
	  "    --max-temporary=N|N%       blocks freed before their thread allocated another or, with --temporary=M\n"
	  "                               (0, 1, 3, 7, ...), more than M others\n"
	  "    --max-leak-sites=N         sites that hold bytes at the end, but for the C and C++ libraries' own\n"
	  "    --max-rss=SIZE             the largest resident set, without massif's memory (recorded with --rss=yes)\n"
	  "    --budget=FILE              budgets for programs, functions, files and libraries; a line is\n"
	  "                               [program PATTERN] [function|file|library PATTERN] MEASURE LIMIT,\n"
	  "                               such as: library libxml2.so* peak 64M\n"
	  "    --suppressions=FILE        known leaks, in the format of LeakSanitizer or Valgrind\n"
	  "    --embedded-suppressions=no   count also leaks that the program's __lsan_default_suppressions names\n"
	  "    --format=text|tap|junit    what is printed;  -o FILE  where\n"
	  "    --pid=PID                  check only this process of the recording\n"
	  "  The exit status is 0 if no budget is exceeded, 1 if one is, 2 if something is wrong. massif-ctl run\n"
	  "  takes the budgets, too, and checks them when the program has ended.\n",
	  .words = mf_command_check_words },
	{ "symbolize", "symbolize [options] FILE", "look up the names of a recording, on any machine",
	  mf_command_symbolize,
	  "  Finds the files of the recording by their build-ids, and writes functions, files, lines and inlined calls\n"
	  "  into the recording. A recording made with stripped programs can so be given its names on a machine that\n"
	  "  has the debug files. Files are looked for at their recorded paths, in /usr/lib/debug, and with\n"
	  "    --debug-dir=DIR      in DIR: debug files by build-id, a copy of the other machine's file system, or the\n"
	  "                         directory in which the program was built; may be given several times\n"
	  "    --debuginfod[=URLS]  on debuginfod servers, those in $DEBUGINFOD_URLS by default\n"
	  "    --demangle=no        write the names of C++ and Rust as the linker has them\n"
	  "    -o FILE              write to another file; - is standard output\n"
	  "  A file with another build-id is never used. The output lists how many frames of each file have names, and\n"
	  "  what was not found. The exit status is 0 if everything was looked up and the recording is written, even\n"
	  "  if files were not found; 1 if something is wrong, also if a server cannot be asked.\n",
	  .words = mf_command_symbolize_words },
	{ "print", "print [options] FILE...", "print massif.out files as graphs, tables and trees: runs ms_print",
	  mf_command_print,
	  "  Runs the ms_print that is installed with massif-ctl, with the same options and files. In Debian's packages\n"
	  "  its name is massif-print, because /usr/bin/ms_print is Valgrind's.\n" },
	{ "attach", "attach [--heap] PID [--duration S] [options]", "profile a running process: its pages, or its heap",
	  mf_command_attach,
	  "  With --heap, counts what process PID allocates from now on, as massif-ctl run does from the start.\n"
	  "  Blocks that it already has are not in the profile. The shim is loaded into the process, which does\n"
	  "  not notice; what could be harmed is refused.\n"
	  "\n"
	  "  Without --heap, records every change of its memory mappings, with its call stack. Memory that was\n"
	  "  mapped earlier is shown from the first snapshot on, without call stacks. This needs the kernel module\n"
	  "  massif.ko (massif-ctl doctor reports what is missing). Options that concern malloc'd blocks have no\n"
	  "  effect.\n"
	  "\n"
	  "  The profile ends after S seconds (--duration), at Ctrl-C or SIGTERM, or when the process ends; the\n"
	  "  process keeps running. The file (massif.out.PID by default, see --massif-out-file) ends with a detailed\n"
	  "  snapshot. attach needs the right to trace the process: be its user, or root.\n",
	  .has_options = true, .words = attach_words },
	{ "rescue", "rescue PID [options]", "recover a profile whose massif-ctl was killed",
	  mf_command_rescue,
	  "  If massif-ctl was killed (SIGKILL, the OOM killer), the complete profile remains in the memory of\n"
	  "  process PID for as long as the process runs. Root resumes the profile, in the background or, with\n"
	  "  --wait=yes, in the foreground; the file is written when the process ends. The user of the process\n"
	  "  writes the profile as it is now, as often as needed. Options and file name are those of the\n"
	  "  original command unless overridden; for a process of another user, the file is massif.out.PID in\n"
	  "  the current directory.\n",
	  .has_options = true },
	{ "list", "list", "list the running profiles", mf_command_list },
	{ "top", "top [options] [PID]", "show what a running program holds, and what grows",
	  mf_command_top,
	  "  Shows the running profile of process PID, or the only one, or those from which to choose: live bytes and\n"
	  "  peak, their curve, allocations per second, and the sites that hold most or grow fastest. The program is not\n"
	  "  stopped and does not become slower. If it ends, its last figures and its file stay on the screen. Keys:\n"
	  "    Tab, Left, Right   sort by held bytes, by growth or by allocations\n"
	  "    Up, Down, PgUp, PgDn, Home   scroll\n"
	  "    f        call sites or functions\n"
	  "    / REGEX  only rows that match this extended regular expression\n"
	  "    p        pause\n"
	  "    s        save a detailed snapshot\n"
	  "    Escape   back to the list of profiles\n"
	  "    ?  q     help, quit\n"
	  "  Options:\n"
	  "    -d SEC    seconds between two updates, 1 by default\n"
	  "    --once    print once, instead of using the screen; rates are then those since the program's start\n"
	  "    -n N      print N times, -d SEC apart\n"
	  "    --top=N   number of rows to print, 20 by default\n"
	  "    --by=site|function   --sort=held|growth|allocations   --filter=REGEX   as with the keys\n",
	  .words = mf_command_top_words },
	{ "snapshot", "snapshot [--pid PID] [file]", "write a snapshot of a running profile",
	  mf_command_snapshot,
	  SNAPSHOT_DETAILS("massif.vgdb.out"), .words = snapshot_words },
	{ "detailed_snapshot", "detailed_snapshot [--pid PID] [file]", "write a detailed snapshot, with its tree",
	  mf_command_detailed_snapshot,
	  SNAPSHOT_DETAILS("massif.vgdb.out"), .words = snapshot_words },
	{ "all_snapshots", "all_snapshots [--pid PID] [file]", "write all snapshots taken so far",
	  mf_command_all_snapshots,
	  SNAPSHOT_DETAILS("massif.vgdb.out"), .words = snapshot_words },
	{ "xtmemory", "xtmemory [--pid PID] [file]", "write an execution tree of the live blocks",
	  mf_command_xtmemory,
	  SNAPSHOT_DETAILS("xtmemory.kcg.%p.%n"), .words = snapshot_words },
	{ "doctor", "doctor [--mode=heap|pages|all]", "check what works on this machine, and how to fix the rest",
	  mf_command_doctor, .words = doctor_words },
	{ "completion", "completion bash|zsh|fish", "print a script that completes the words of massif-ctl in a shell",
	  mf_command_completion,
	  "  bash:  massif-ctl completion bash >~/.local/share/bash-completion/completions/massif-ctl\n"
	  "  zsh:   massif-ctl completion zsh >DIR/_massif-ctl, where DIR is in $fpath\n"
	  "  fish:  massif-ctl completion fish >~/.config/fish/completions/massif-ctl.fish\n" },
	{ "help", "help [COMMAND]", "print this text, or explain a command", mf_command_help },
	{ "version", "version", "print the version", mf_command_version },
};

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

const unsigned int mf_n_commands = sizeof(mf_commands) / sizeof(mf_commands[0]);

const char *mf_command_nearest(const char *word)
{
	struct mf_nearest nearest = { .word = word, .length = strlen(word) };

	for (unsigned int i = 0; i < mf_n_commands; i++)
		mf_nearest_consider(&nearest, mf_commands[i].name);
	return nearest.found;
}

int mf_command_dispatch(int argc, char **argv)
{
	for (unsigned int i = 0; argc > 1 && i < mf_n_commands; i++) {
		const struct mf_command *command = &mf_commands[i];

		if (strcmp(argv[1], command->name))
			continue;
		/* run --help prints the general help, like --help without a command. */
		if (is_help(argv[2]) && command->run != mf_command_run)
			return mf_command_explain(command->name);
		return command->run(argc - 2, argv + 2);
	}
	return mf_command_run(argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
