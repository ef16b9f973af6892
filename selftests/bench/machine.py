# SPDX-License-Identifier: GPL-2.0
"""The machine that figures come from, and the versions of what ran on it."""

import os
import platform
import re
import subprocess


def first_line(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout + done.stderr).strip().split("\n")[0]


def processor():
    with open("/proc/cpuinfo") as text:
        found = re.search(r"^model name\s*: (.*)$", text.read(), re.M)
    return found.group(1) if found else platform.machine()


def system():
    with open("/etc/os-release") as text:
        found = re.search(r'^PRETTY_NAME="(.*)"$', text.read(), re.M)
    return found.group(1) if found else "?"


def load():
    return os.getloadavg()[0]


def describe():
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "system": system(),
        "kernel": platform.release(),
        "load_before": load(),
        "glibc": platform.libc_ver()[1],
        "valgrind": first_line("valgrind", "--version"),
        "heaptrack": first_line("heaptrack", "--version"),
        "gcc": first_line("gcc", "--version"),
    }
