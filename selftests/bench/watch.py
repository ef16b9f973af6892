#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""What watching costs: programs under massif-ctl, alone and watched by massif-ctl top, in pairs.

watch.py [--rows NAME,...] [--pairs N] [--seconds N]

top runs in a terminal of 80 columns and 24 rows of its own, with an update each second, from shortly after the program's
start until its end. CPU time is user and system time: of the program with its massif-ctl, and of top with its children,
which look up names. A ratio is that of the watched run to the other run of the same round.
"""

import argparse
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time

import inputs

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("MASSIF_BUILD") or os.path.join(HERE, "../../build"))
BENCH = os.path.join(BUILD, "bench")
PROGRAMS = os.path.join(BUILD, "selftests/bench")
CTL = os.path.join(BUILD, "massif-ctl")
CODE = os.path.join(BENCH, "watched.i")


def compiler():
    return subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()


def write_code(size):
    inputs.write_c(CODE, size)
    return [compiler(), "-fpreprocessed", "-quiet", "-O2", "-o", "/dev/null", CODE]


# Makes the words of a command for a size, which determines how long it runs, and the size to begin with.
ROWS = {
    "churn": (lambda size: [os.path.join(PROGRAMS, "churn"), str(size)], 60),
    "cc1": (write_code, 400),
    "tree": (lambda size: [os.path.join(PROGRAMS, "tree"), "7", str(size)], 400),
}



def child_of(pid):
    """The program that massif-ctl has started; None if there is none yet."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as text:
            words = text.read().split()
        if words and os.readlink("/proc/%s/exe" % words[0]) != os.path.realpath(CTL):
            return words[0]
    except OSError:
        pass
    return None


def drain(terminal, seconds):
    if select.select([terminal], [], [], seconds)[0]:
        try:
            return len(os.read(terminal, 65536))
        except OSError:
            pass
    return 0


def start_top(program):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.execv(CTL, [CTL, "top", program])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    return pid, terminal


def run(words, watched):
    """CPU seconds of the program with its massif-ctl; with @watched also those of top, and the seconds that it watched."""
    ctl = subprocess.Popen([CTL, "-q", "--massif-out-file=" + os.path.join(BENCH, "watch.out")] + words, cwd=BENCH,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    top = None
    while watched and not top:
        program = child_of(ctl.pid)
        time.sleep(0.05)
        if program:
            top, terminal = start_top(program)
            began = time.monotonic()
            drew_in = set()
    while True:
        pid, status, used = os.wait4(ctl.pid, os.WNOHANG)
        if pid:
            break
        if watched:
            if drain(terminal, 0.1):
                drew_in.add(int(time.monotonic() - began))
        else:
            time.sleep(0.1)
    ctl.returncode = 0
    if status:
        sys.exit("%s ended with status %d" % (words[0], status))
    if not watched:
        return used.ru_utime + used.ru_stime, None, None
    watched_for = time.monotonic() - began
    while drain(terminal, 1.5):
        pass
    os.write(terminal, b"q")
    while drain(terminal, 0.5):
        pass
    _, status, seen = os.wait4(top, 0)
    os.close(terminal)
    # It draws each second, or less often if the machine is busy.
    if status or len(drew_in) < watched_for / 3:
        sys.exit("top ended with status %d and has drawn in %d of %d seconds" % (status, len(drew_in), watched_for))
    return used.ru_utime + used.ru_stime, seen.ru_utime + seen.ru_stime, watched_for


def choose(row, least):
    """The words of a command that takes @least seconds of CPU time, and its size."""
    make, size = row
    while True:
        words = make(size)
        cpu, _, _ = run(words, False)
        if cpu >= least:
            return words, size
        # A size that was too small by a little is not tried again and again.
        size = int(size * max(1.2, 1.1 * least / max(cpu, 0.1))) + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="churn,cc1,tree")
    parser.add_argument("--pairs", type=int, default=7)
    # top must see enough of each run, on a machine of any speed.
    parser.add_argument("--seconds", type=float, default=5, help="CPU time that a run takes at least")
    options = parser.parse_args()
    os.makedirs(BENCH, exist_ok=True)
    for name in options.rows.split(","):
        words, size = choose(ROWS[name], options.seconds)
        alone, watched, top, share = [], [], [], []
        for number in range(options.pairs):
            # Which of the two is first changes from round to round.
            for watch in (False, True) if number % 2 else (True, False):
                cpu, seen, seconds = run(words, watch)
                if watch:
                    watched.append(cpu)
                    top.append(seen)
                    share.append(100 * seen / seconds)
                else:
                    alone.append(cpu)
        ratios = [a / b for a, b in zip(watched, alone)]
        print("%-6s of size %d: CPU s alone %.2f, watched %.2f; ratio %.3f (%.3f-%.3f); top %.3f s, "
              "%.2f %% of a processor (%.2f-%.2f)"
              % (name, size, statistics.median(alone), statistics.median(watched), statistics.median(ratios), min(ratios),
                 max(ratios), statistics.median(top), statistics.median(share), min(share), max(share)), flush=True)


main()
