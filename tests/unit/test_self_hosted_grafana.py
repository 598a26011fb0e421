"""A Grafana that is not Azure's: its settings, what is looked up for it, and what is made."""

from typing import Any, cast

import pytest

from contract.messages.survey import GrafanaFacts, OwnGrafanaFacts, Presence
from infra.faults import ConfigurationError
from infra.settings import Settings
from tests.unit.stack_files import EXISTING, faults, settings, stack
from tests.unit.test_preflight import asked, checked, with_facts
from tests.unit.test_pyroscope import RELEASE, deploy, values

URL = "https://grafana.example.org"
OWN: dict[str, object] = {"cluster": EXISTING["cluster"], "grafana": {"selfHosted": {"url": URL}}}
FOUND = OwnGrafanaFacts(presence=Presence.FOUND, version="12.1.0", permissions_known=True)


def own(**sections: object) -> Settings:
    return settings(OWN, **sections)


def said(facts: OwnGrafanaFacts) -> tuple[str, ...]:
    """The faults, or else the warnings."""
    absent = GrafanaFacts(presence=Presence.NOT_ASKED)
    try:
        return checked(with_facts(own_grafana=facts, grafana=absent), own()).warnings
    except ConfigurationError as error:
        return tuple(str(fault) for fault in error.faults)


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        (f"{URL}/sub/path/", True),
        ("http://localhost:3000", True),
        ("http://127.0.0.1:3000", True),
        ("http://grafana.example.org", False),
        ("http://localhost.example.org", False),
        ("https://user:password@grafana.example.org", False),
        (f"{URL}?orgId=2", False),
        ("grafana.example.org", False),
        ("https://[", False),
    ],
)
def test_a_token_is_sent_over_https_or_to_this_machine_only(url: str, is_one: bool) -> None:
    found = faults(OWN, grafana={"selfHosted": {"url": url}})
    assert set(found) == (set() if is_one else {"grafana.selfHosted.url"})
    assert "password" not in str(found)


def test_the_token_itself_cannot_stand_in_a_stack_file() -> None:
    name = {"url": URL, "tokenVariable": "glsa_abc"}
    assert set(faults(OWN, grafana={"selfHosted": name})) == {"grafana.selfHosted.tokenVariable"}


ROLE = {
    "principalId": "11111111-1111-4111-8111-111111111111",
    "principalType": "User",
    "role": "Viewer",
}


@pytest.mark.parametrize(
    ("sections", "at"),
    [
        ({"grafana": {"roleAssignments": [ROLE]}}, "grafana.roleAssignments"),
        ({"grafana": {"privateEndpoint": {"name": "abc"}}}, "grafana.privateEndpoint"),
        ({"pyroscope": {"privateLink": {"name": "abc"}}}, "pyroscope.privateLink.name"),
        (
            {"prometheus": {"azureMonitorWorkspace": {"create": {}}}},
            "grafana.selfHosted.azureSignIn",
        ),
    ],
)
def test_a_setting_without_effect_or_without_a_needed_one_is_refused(
    sections: dict[str, object], at: str
) -> None:
    assert set(faults(stack(sections, OWN))) == {at}


def test_azures_grafana_needs_the_private_link() -> None:
    found = faults(pyroscope={"privateLink": {"create": False}})
    assert set(found) == {"pyroscope.privateLink.create"}


def test_nothing_of_azures_grafana_is_asked_for() -> None:
    wanted = asked(own())
    assert wanted.grafana_id is None
    assert wanted.private_link_name is None
    assert wanted.private_endpoint_name is None
    assert not any("Dashboard" in one or "Network" in one for one in wanted.namespaces)
    assert not any("Microsoft.Dashboard" in action for r in wanted.rights for action in r.actions)
    assert wanted.own_grafana is not None
    assert wanted.own_grafana.plugins == ("grafana-pyroscope-datasource",)
    assert "folders:create" not in wanted.own_grafana.permissions
    in_folder = asked(own(grafana={"selfHosted": {"url": URL}, "folder": "GPUs"})).own_grafana
    assert in_folder is not None
    assert "folders:create" in in_folder.permissions


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (FOUND.model_copy(update={"version": "11.5.9"}), "runs 11.5.9"),
        (FOUND.model_copy(update={"missing_plugins": ("prometheus",)}), "Prometheus must be inst"),
        (FOUND.model_copy(update={"missing_permissions": ("datasources:create",)}), "role Admin"),
        (FOUND.model_copy(update={"permissions_known": False}), "does not say what the token"),
        (FOUND.model_copy(update={"version": ""}), "does not say its version"),
        (OwnGrafanaFacts(presence=Presence.UNAUTHENTICATED, detail="no token"), "no token"),
        (OwnGrafanaFacts(presence=Presence.UNREACHABLE, detail="refused"), "must be Grafana, and"),
        (OwnGrafanaFacts(presence=Presence.REFUSED, detail="moved"), "moved"),
    ],
)
def test_what_keeps_it_from_being_used_is_said(facts: OwnGrafanaFacts, words: str) -> None:
    (sentence,) = said(facts)
    assert words in sentence


def test_one_that_will_do_is_no_cause_for_a_word() -> None:
    assert said(FOUND) == ()


def test_without_a_private_link_pyroscope_is_a_release_alone_for_the_cluster() -> None:
    made = deploy(private_link=None)
    assert [one for one in made.resources if "private-link" in one.name] == []
    service = cast("dict[str, Any]", values(private_link=None)["pyroscope"])["service"]
    assert service == {"type": "ClusterIP", "port": 4040}
    assert made.only(RELEASE).inputs["namespace"] == "gadget"


def test_the_private_link_that_comes_or_goes_replaces_the_release() -> None:
    """In place, its cloud controller would cut off whoever is connected, unasked."""
    without = deploy(private_link=None).only(RELEASE).replacement_trigger
    assert without
    assert without != deploy().only(RELEASE).replacement_trigger
