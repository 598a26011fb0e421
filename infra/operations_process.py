"""The process of the operations that answers this program, beside it.

Only the standard library is imported here: the process is started before the program's own
imports, and imports Azure's SDK and signs in meanwhile.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Lock
from typing import IO, cast

ROOT = Path(__file__).resolve().parent.parent


class OperationsProcess:
    """``python -m operations.serving``, with the Python that runs the program.

    It ends when its standard input does, so with the program, whatever ends that. It holds none of
    the program's own streams, whose end the engine waits for.
    """

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "operations.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._questions = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        self._turn = Lock()

    def ask(self, question: str) -> str:
        """The answer to a line of JSON, one too; safe to use from several threads.

        Raises:
            OSError: there is none; with what the process complained of.
        """
        with self._turn:
            try:
                self._questions.write(f"{question}\n".encode())
                self._questions.flush()
            except BrokenPipeError:
                answer = b""
            else:
                answer = self._answers.readline()
            if answer:
                return answer.decode()
            self._process.wait()
            self._complaints.seek(0)
            raise OSError(self._complaints.read().decode(errors="replace").strip())

    def close(self) -> None:
        """End the process: nothing more will be asked."""
        with self._turn:
            self._process.communicate()
            self._complaints.close()
