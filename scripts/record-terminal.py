"""Runs a command on a terminal of 80 columns and 24 lines, and prints what its reader saw.

usage: record-terminal.py [--every SECONDS] [--interrupt SECONDS] COMMAND...

It prints the screen each time that it has changed, then all lines that are there at the end, those
that have left the screen first. Python needs the package pyte, which is the terminal.
"""

import argparse
import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

COLUMNS, LINES = 80, 24


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--every", type=float, default=3, help="the least time between two screens")
    parser.add_argument("--interrupt", type=float, help="the time at which Ctrl-C is pressed")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    screen = pyte.HistoryScreen(COLUMNS, LINES, history=10_000)
    stream = pyte.ByteStream(screen)
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(arguments.command[0], arguments.command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    started = time.monotonic()
    shown_at, shown = 0, visible(screen)
    is_interrupted = arguments.interrupt is None
    while True:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                output = os.read(terminal, 1 << 16)
            except OSError:
                # Linux says so when the last process has closed its side.
                break
            if not output:
                break
            stream.feed(output)
        now = time.monotonic() - started
        if not is_interrupted and now > arguments.interrupt:
            os.write(terminal, b"\x03")
            is_interrupted = True
            print(f"--- {now:.0f} s: Ctrl-C")
        if now - shown_at >= arguments.every and visible(screen) != shown:
            shown_at, shown = now, visible(screen)
            print(f"--- {now:.0f} s")
            print("\n".join(shown))
    _, status = os.waitpid(child, 0)
    print(f"--- {time.monotonic() - started:.1f} s: exit code {os.waitstatus_to_exitcode(status)}")
    gone = ["".join(line[column].data for column in range(COLUMNS)).rstrip() for line in screen.history.top]
    print("\n".join(gone + visible(screen)))


def visible(screen):
    """The lines of the screen, without empty ones at its end."""
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines


if __name__ == "__main__":
    main()
