"""What a cluster's Pyroscope has stored: profiles with labels, read by time and label."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.prometheus.selectors import Matcher, selects
from simulator.pyroscope.flamebearer import Stack
from simulator.pyroscope.limits import ServerLimits
from simulator.pyroscope.profile import observations
from simulator.pyroscope.recordings import Recording


@dataclass(frozen=True)
class StoredProfile:
    """The bytes that one process allocated with one stack in one second."""

    at_ms: int
    labels: Mapping[str, str]
    stack: Stack
    value: int


@dataclass(frozen=True)
class ProfileType:
    """A profile type; its id is the five parts joined by colons, the last two may be empty."""

    name: str
    sample_type: str
    sample_unit: str
    period_type: str
    period_unit: str

    @property
    def id(self) -> str:
        """The id as queries name it; matching is exact."""
        parts = (self.name, self.sample_type, self.sample_unit, self.period_type, self.period_unit)
        return ":".join(parts)

    @classmethod
    def parse(cls, text: str) -> "ProfileType":
        """Read an id.

        Raises:
            ValueError: it has not the five parts.
        """
        parts = text.split(":")
        if len(parts) != 5:
            raise ValueError(
                "profile-type selection must be of the form"
                " <name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>,"
                f" got({len(parts)}): {text!r}"
            )
        return cls(*parts)


class ProfileStore:
    """The profiles of one cluster; ``now`` gives seconds of the Unix epoch."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        now: Callable[[], float] = time.time,
        limits: ServerLimits | None = None,
    ) -> None:
        self._recordings = recordings
        self._now = now
        self.limits = limits or ServerLimits()

    def read(
        self, start_ms: int, end_ms: int, selector: Sequence[Matcher] = ()
    ) -> Iterator[StoredProfile]:
        """The profiles in ``[start, end]`` that are selected, as far back as the limits look."""
        if look_back := self.limits.effective.query_lookback:
            oldest = self._now() - look_back
            start_ms = max(start_ms, int(oldest * 1000))
        for recording in self._recordings:
            window = (
                max(recording.start, start_ms / 1000) - recording.origin,
                min(recording.until(self._now()), end_ms / 1000) - recording.origin,
            )
            for observed in observations(*window):
                process = observed.process
                labels = {
                    **_type_labels(recording),
                    "k8s_namespace": process.namespace,
                    "k8s_podName": process.pod,
                    "proc_comm": process.command,
                    "service_name": recording.service_name,
                }
                if selects(selector, labels):
                    at_ms = round((recording.origin + observed.at) * 1000)
                    # The agent joins a stack's frames and splits them again, which leaves an empty
                    # one at its root.
                    yield StoredProfile(at_ms, labels, ("", *observed.stack), observed.bytes)


def _type_labels(recording: Recording) -> dict[str, str]:
    """The labels by which Pyroscope itself tells profile types apart; empty ones do not exist."""
    kind = ProfileType.parse(recording.profile_type)
    labels = {
        "__name__": kind.name,
        "__period_type__": kind.period_type,
        "__period_unit__": kind.period_unit,
        "__profile_type__": kind.id,
        "__service_name__": recording.service_name,
        "__type__": kind.sample_type,
        "__unit__": kind.sample_unit,
    }
    return {name: value for name, value in labels.items() if value}
