"""The one command for people: ``python -m gpuobs VERB``.

A thin room: what a command line needs (parser, exit statuses, messages), and for each verb the
lines that hand over to the room which does the work. A new verb is a module with its
:class:`~gpuobs.verb.Verb` and a line in :mod:`gpuobs.cli`.
"""

from typing import Final

VERSION: Final = "0.2.0.dev0"
"""Of the whole project, as ``pyproject.toml`` reads it; CHANGELOG.md has the releases."""
