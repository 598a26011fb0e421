"""Runs one Pulumi program; the language host starts this file with the settings on its stdin.

Exit status: 0 done, 32 failed and reported to the engine, otherwise failed.
"""

import asyncio
import json
import logging
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

_REPORTED = 32
_PARENT_CHECK_SECONDS = 0.5


def main() -> None:
    """Configure the SDK, run the program in its stack, and report what went wrong."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    settings = json.load(sys.stdin)
    # The program itself must find an empty standard input, and not this folder's modules.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    del sys.path[0]
    signal.signal(signal.SIGINT, _stop)
    program = str(settings["program"])
    directory = program if os.path.isdir(program) else os.path.dirname(program)
    sys.path.insert(0, directory)
    sys.argv = [program, *settings["arguments"]]

    _configure(settings)
    status = _run(program, directory, threads=max(settings["parallel"], 1))
    sys.stdout.flush()
    sys.stderr.flush()
    # Tearing the interpreter down would take as long as a small program.
    os._exit(status)


def _configure(settings: dict[str, Any]) -> None:
    import pulumi.runtime

    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            monitor=settings["monitor"],
            engine=settings["engine"],
            project=settings["project"],
            stack=settings["stack"],
            parallel=settings["parallel"],
            dry_run=settings["dry_run"],
            organization=settings["organization"],
            root_directory=settings["root"] or None,
        )
    )
    pulumi.runtime.set_all_config(settings["config"], settings["secret_keys"])


def _run(program: str, directory: str, threads: int) -> int:
    """The exit status of the program, run in its stack."""
    import pulumi
    import pulumi.runtime

    run_in_stack = cast(
        Callable[[Callable[[], object]], Coroutine[Any, Any, object]], pulumi.runtime.run_in_stack
    )
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # One thread a resource in flight: the SDK waits in threads for the engine's answers.
    executor = ThreadPoolExecutor(max_workers=threads)
    loop.set_default_executor(executor)
    # After a failure the rest of the program's futures stay unread, which is not news to the user.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    status = 0
    try:
        loop.run_until_complete(
            run_in_stack(lambda: runpy.run_path(program, run_name="__main__") and None)
        )
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        status = 1
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception as error:
        message = "Program failed with an unhandled exception:\n" + _user_traceback(
            error, directory
        )
        pulumi.log.error(message)
        status = _REPORTED
    executor.shutdown(wait=True)
    return status


def _user_traceback(error: BaseException, directory: str) -> str:
    """The traceback from the program's first own frame on."""
    report = traceback.TracebackException.from_exception(error)
    for index, frame in enumerate(report.stack):
        if frame.filename.startswith(directory):
            report.stack = traceback.StackSummary.from_list(report.stack[index:])
            break
    return "".join(report.format())


def _end_with(host: int) -> None:
    """End with the language host, which ends with its engine: one that was killed tells nobody."""
    while os.getppid() == host:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(_REPORTED)


def _stop(_signal: int, _frame: object) -> None:
    # The engine says that it was interrupted; a traceback would only hide that.
    os._exit(_REPORTED)


if __name__ == "__main__":
    main()
