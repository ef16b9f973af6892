#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0
"""What watching costs: programs under massif-ctl, alone and watched by massif-ctl top, in pairs.

watch.py [--rows NAME,...] [--pairs N]

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


ROWS = {
    "churn": [os.path.join(PROGRAMS, "churn"), "60"],
    "cc1": [compiler(), "-fpreprocessed", "-quiet", "-O2", "-o", "/dev/null", CODE],
    "tree": [os.path.join(PROGRAMS, "tree"), "7", "400"],
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
            drawn = 0
    while True:
        pid, status, used = os.wait4(ctl.pid, os.WNOHANG)
        if pid:
            break
        if watched:
            drawn += drain(terminal, 0.1)
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
    if status or drawn < 5000:
        sys.exit("top ended with status %d and has drawn %d bytes" % (status, drawn))
    return used.ru_utime + used.ru_stime, seen.ru_utime + seen.ru_stime, watched_for


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="churn,cc1,tree")
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    os.makedirs(BENCH, exist_ok=True)
    inputs.write_c(CODE, 400)
    for name in options.rows.split(","):
        alone, watched, top, share = [], [], [], []
        for number in range(options.pairs):
            # Which of the two is first changes from round to round.
            for watch in (False, True) if number % 2 else (True, False):
                cpu, seen, seconds = run(ROWS[name], watch)
                if watch:
                    watched.append(cpu)
                    top.append(seen)
                    share.append(100 * seen / seconds)
                else:
                    alone.append(cpu)
        ratios = [a / b for a, b in zip(watched, alone)]
        print("%-6s CPU s alone %.2f, watched %.2f; ratio %.3f (%.3f-%.3f); top %.3f s, %.2f %% of a processor (%.2f-%.2f)"
              % (name, statistics.median(alone), statistics.median(watched), statistics.median(ratios), min(ratios),
                 max(ratios), statistics.median(top), statistics.median(share), min(share), max(share)), flush=True)


main()
