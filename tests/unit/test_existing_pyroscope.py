"""A Pyroscope that is there already: what its URL may be, and what a preview says of it."""

import re

import pytest

from contract.json import Document
from contract.messages.survey import ExtensionFacts, LockFacts, Presence, PyroscopeFacts
from infra.deployed import Deployed, Own
from infra.faults import ConfigurationError
from tests.unit.stack_files import EXISTING, faults, settings
from tests.unit.test_preflight import GRAFANA, GROUP, asked, checked, with_facts

URL = "http://pyroscope.monitoring.svc.cluster.local:4040"
CHOSEN = {**EXISTING, "pyroscope": {"existing": {"url": URL, "dataSource": "central"}}}
AGENT = ExtensionFacts(presence=Presence.FOUND, current_version="0.55.1")
SOURCE = PyroscopeFacts(
    version="1.15.0", source=Presence.FOUND, source_type="grafana-pyroscope-datasource"
)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://user:password@pyroscope.example.org:4040", "stays in the state"),
        ("https://user:password@pyroscope.example.org", "stays in the state"),
        ("http://pyroscope.example.org", "no usual port of http"),
        ("http://pyroscope:4040", "in the agent's own namespace"),
        ("http://pyroscope.example.org:4040/path", "no profiles are taken there"),
        ("grpc://pyroscope.example.org:4040", "no profiles are taken there"),
        ("http://[", "no profiles are taken there"),
        ("http://pyroscope.gadget.svc:4040", "is what leads to it"),
    ],
)
def test_what_nothing_can_push_to_is_refused_with_the_reason(url: str, why: str) -> None:
    found = faults(pyroscope={"existing": {"url": url}})
    assert set(found) == {"pyroscope.existing.url"}
    assert why in found["pyroscope.existing.url"].why
    assert "password" not in found["pyroscope.existing.url"].why.replace("a password", "")
    assert "user:" not in str(found)


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "forwarder"),
    [
        ("http://pyroscope.example.org:4040", "pyroscope.example.org", 4040, False, False),
        ("http://pyroscope.example.org:4041", "pyroscope.example.org", 4041, False, True),
        ("http://10.0.0.4:4040", "10.0.0.4", 4040, False, True),
        ("https://profiles-prod-002.grafana.net", "profiles-prod-002.grafana.net", 443, True, True),
        ("https://pyroscope.example.org:4040", "pyroscope.example.org", 4040, True, True),
    ],
)
def test_a_forwarder_stands_where_the_agent_cannot_push_itself(
    url: str, host: str, port: int, tls: bool, forwarder: bool
) -> None:
    existing = settings(EXISTING, pyroscope={"existing": {"url": url}}).pyroscope.existing
    assert existing is not None
    found = (existing.host, existing.port, existing.tls, existing.needs_forwarder)
    assert found == (host, port, tls, forwarder)


@pytest.mark.parametrize(
    ("existing", "words"),
    [
        ({"url": URL, "dataSource": "central"}, "for everybody to read"),
        ({"url": "https://pyroscope.example.org"}, "would be in its state"),
    ],
)
def test_credentials_go_over_tls_only_and_never_into_a_source_of_the_stacks_own(
    existing: dict[str, object], words: str
) -> None:
    named = {**existing, "credentials": {"secret": "pyroscope-push"}}
    (fault,) = faults(pyroscope={"existing": named}).values()
    assert words in fault.why


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("imageTag", "1.15.1"),
        ("storage", {"blob": {}}),
        ("privateLink", {"create": True}),
        ("resources", {"limits": {"memory": "8Gi"}}),
    ],
)
def test_settings_of_a_server_of_the_stacks_own_have_no_effect_on_it(
    field: str, value: object
) -> None:
    assert set(faults(pyroscope={"existing": {"url": URL}, field: value})) == {f"pyroscope.{field}"}


def test_no_link_endpoint_or_chart_is_asked_for() -> None:
    wanted = asked(settings(CHOSEN))
    assert wanted.private_link_name is None
    assert wanted.private_endpoint_name is None
    assert not any("managedPrivate" in one for right in wanted.rights for one in right.actions)
    assert wanted.chart_registry is None
    assert wanted.pyroscope is not None
    assert wanted.pyroscope.data_source == "central"


def test_an_endpoint_that_is_not_made_is_no_cause_for_a_word() -> None:
    """Neither of its region, nor of a lock once all else is there."""
    elsewhere = GRAFANA.model_copy(update={"location": "eastus"})
    lock = LockFacts(id=f"{GROUP}/locks/keep", scope=GROUP, read_only=True)
    survey = with_facts(pyroscope=SOURCE, extension=AGENT, grafana=elsewhere, locks=(lock,))
    deployed = frozenset(Own) - {Own.APPROVAL, Own.PRIVATE_ENDPOINT, Own.RELEASE}
    (warning,) = checked(survey, settings(CHOSEN), deployed).warnings
    assert "keep" in warning


def said(facts: PyroscopeFacts, **changes: object) -> tuple[str, ...]:
    """The faults, or else the warnings."""
    chosen = settings(CHOSEN, **changes)
    try:
        return checked(with_facts(pyroscope=facts, extension=AGENT), chosen).warnings
    except ConfigurationError as error:
        return tuple(str(fault) for fault in error.faults)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "1.20.0"}, "flame graph stays empty"),
        ({"version": "2.1.0"}, "flame graph stays empty"),
        ({"version": ""}, "could not be asked for its version"),
        ({"source": Presence.ABSENT}, "there is none"),
        ({"source_type": "prometheus"}, "must be of type grafana-pyroscope-datasource"),
    ],
)
def test_a_server_or_source_that_will_not_do_is_said(
    changes: dict[str, object], words: str
) -> None:
    (sentence,) = said(SOURCE.model_copy(update=changes))
    assert words in sentence


def test_one_that_fits_is_no_cause_for_a_word() -> None:
    assert said(SOURCE) == ()


@pytest.mark.parametrize(
    ("there", "wants", "away"),
    [(Own.RELEASE, True, "**::pyroscope"), (Own.ELSEWHERE, False, "**::pyroscope-elsewhere")],
)
def test_the_one_kind_replaces_the_other_on_a_live_stack_in_two_commands(
    there: Own, wants: bool, away: str
) -> None:
    """Both have a Service of the same name."""
    chosen = settings(CHOSEN) if wants else settings(EXISTING)
    deployed = Deployed({one.value: Document({}) for one in (there, Own.DASHBOARD)})
    line = f"pulumi destroy --target '{away}' --target-dependents, which"
    with pytest.raises(ConfigurationError, match=re.escape(line)):
        checked(with_facts(pyroscope=SOURCE, extension=AGENT), chosen, deployed)
