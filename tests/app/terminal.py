"""The program on a pseudo-terminal, with its input and output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

PATIENCE = 60.0


class Terminal:
    """The program on a pseudo-terminal, and the bytes that it has written."""

    def __init__(self, *arguments: str, columns: int = 80, lines: int = 24, script: str = "") -> None:
        """Start the program, or `script`: Python code that may patch the program before it starts it."""
        program = ["-c", script] if script else ["-m", "hadamard_tui"]
        self.written = b""
        self.pid, self.line = pty.fork()
        if self.pid == 0:
            # readline puts COLUMNS and LINES into the environment, and they overrule the terminal's own size.
            environment = {
                name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")
            }
            environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(sys.executable, [sys.executable, *program, *arguments], environment)
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.line, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.line, keys)

    def take(self, seconds: float) -> bool:
        """Read the output that comes within `seconds`; return False at the end of the program."""
        if select.select([self.line], [], [], seconds)[0]:
            try:
                data = os.read(self.line, 65536)
            except OSError:
                return False
            self.written += data
            return bool(data)
        return True

    def shows(self, text: str) -> None:
        """Wait until something is written from here on."""
        end = time.monotonic() + PATIENCE
        while text.encode() not in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", self.written):
            assert time.monotonic() < end, f"{text!r} never came; at last {self.written[-500:]!r}"
            assert self.take(0.1), f"the program ended: {self.written[-2000:]!r}"
        self.written = b""

    def end(self) -> int:
        """The exit code, once the program has ended."""
        end = time.monotonic() + PATIENCE
        while self.take(0.1):
            assert time.monotonic() < end, "the program never ended"
        return self.code()

    def code(self) -> int:
        """Wait for the exit code without reading the output of the program."""
        end = time.monotonic() + PATIENCE
        while (ended := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < end, "the program never ended"
            time.sleep(0.02)
        return os.waitstatus_to_exitcode(ended[1])
