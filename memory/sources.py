"""Where a command line says that metrics and profiles are, and what they say there."""

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from contract.azure import name_of
from flamegraphs.errors import NoSamplesError, TypeAbsentError, UsageError
from flamegraphs.sources.pyroscope import Query, Server, fetch
from flamegraphs.sources.selector import Filters
from flamegraphs.window import Window, window
from memory.metrics import GrafanaSource, Metrics, Prometheus
from memory.parts import Allocated, allocated
from memory.reading import Pod
from memory.vocabulary import Vocabulary, vocabulary
from operations import stack_outputs
from operations.session import Session


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What may be asked; None: there is none."""

    metrics: Metrics | None
    profiles: Server | None
    cluster: str | None
    """Value of label ``cluster``; None: whatever is there."""


@contextmanager
def sources(options: argparse.Namespace) -> Generator[Sources]:
    """The sources that ``--stack``, or ``--prometheus`` and ``--pyroscope`` name.

    Raises:
        OperationError: a stack's outputs cannot be read.
        UsageError: nothing is named.
    """
    if options.stack:
        with Session() as session:
            yield _of_stack(options, session)
        return
    if not options.prometheus and not options.pyroscope:
        raise UsageError("Name a source: --stack, or --prometheus and --pyroscope.")
    url = options.pyroscope
    yield Sources(
        metrics=Prometheus(options.prometheus) if options.prometheus else None,
        profiles=Server(url=url, name=f"Pyroscope at {url.rstrip('/')}") if url else None,
        cluster=options.cluster,
    )


def _of_stack(options: argparse.Namespace, session: Session) -> Sources:
    from flamegraphs.sources import grafana

    outputs = stack_outputs.read(options.stack)
    endpoint = outputs.text("grafanaEndpoint")
    uid = outputs.document.text("dataSourceUids", "prometheus")
    cluster = name_of(outputs.document.text("signalCheck", "clusterId"))
    variable = outputs.document.text("signalCheck", "tokenVariable") or None
    return Sources(
        metrics=GrafanaSource(session, endpoint, uid, variable) if uid else None,
        profiles=grafana.server(endpoint, outputs.text("dataSourceUids", "pyroscope"), variable),
        cluster=options.cluster or cluster or None,
    )


def window_of(options: argparse.Namespace) -> Window:
    """The window that ends at ``--until`` and is ``--window`` long."""
    now = datetime.now(UTC)
    end = window("now-1w", options.until, now).end if options.until != "now" else now
    return window(f"{int(end.timestamp() - _seconds(options.window))}", end.isoformat(), now)


def _seconds(text: str) -> float:
    now = datetime.now(UTC)
    return window(f"now-{text}", "now", now).length.total_seconds()


def before(of: Window) -> Window:
    """The window before, as long."""
    return Window(of.start - of.length, of.start)


def profile_of(found: Sources, pod: Pod | None, of: Window, words: Vocabulary) -> Allocated | None:
    """What a pod (None: all) allocated in a window; None where there is no profile of it."""
    if found.profiles is None:
        return None
    filters = Filters(pod.name, pod.namespace, None) if pod is not None and pod.name else Filters()
    try:
        profile = fetch(found.profiles, Query(window=of, filters=filters), datetime.now(UTC))
    except (NoSamplesError, TypeAbsentError):
        return None
    return allocated(profile, words)


def words_of(path: str | None) -> Vocabulary:
    """The vocabulary, with the file of one's own before it.

    Raises:
        UsageError: the file cannot be read, or is not of its form.
    """
    if path is None:
        return vocabulary()
    try:
        with open(path, encoding="utf-8") as file:
            return vocabulary(file.read())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
