"""How settings are read, and how everything that is wrong is reported."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.choices import GpuDriver
from infra.faults import Fault, shown
from infra.settings import Settings, load, sections_of
from tests.unit.stack_files import CREATED, EXISTING, error, faults, read, settings, stack

SECTIONS = ("azure", "cluster", "gpuPool", "inspektorGadget", "pyroscope", "grafana", "prometheus")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(schema: type[Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, field in schema.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        found.append(path)
        if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields"):
            found += _paths(field.annotation, f"{path}.")
    return found


PATHS = [path for path in _paths(Settings) if "." in path]


def _at(path: str, value: object) -> dict[str, object]:
    section, *rest = path.split(".")
    for key in reversed(rest):
        value = {key: value}
    return stack({section: value})


@pytest.mark.parametrize("name", ["Pulumi.dev.yaml", "Pulumi.sandbox.yaml"])
def test_the_shipped_stack_files_have_no_fault(name: str) -> None:
    load(read(name))


def test_two_lines_are_enough_for_an_existing_cluster_and_grafana() -> None:
    least = load(EXISTING)

    assert least.gpu_pool.vm_size == "Standard_NC24ads_A100_v4"
    assert least.pyroscope.private_link.visibility == ("*",)
    assert least.prometheus.url is None


def test_an_empty_mapping_means_the_defaults_of_what_is_created() -> None:
    created = load(CREATED)

    assert created.cluster.create is not None
    assert created.grafana.create is not None
    assert created.grafana.create.major_version == "12"


def test_settings_cannot_be_changed_after_they_were_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(EXISTING).gpu_pool.__setattr__("name", "other")


def test_every_fault_is_reported_at_once() -> None:
    found = faults(
        azure={"location": "West Europe"},
        gpuPool={"name": "GPU", "count": 1, "autoscaling": {"min": 0, "max": 3}},
        pyroscope={"imageTag": "latest", "privateLink": {"addressCount": 9}},
        alarms={},
    )

    assert set(found) == {
        "azure.location",
        "gpuPool.name",
        "gpuPool.count",
        "pyroscope.imageTag",
        "pyroscope.privateLink.addressCount",
        "alarms",
    }


def test_a_value_that_cannot_be_read_does_not_hide_a_rule_between_others() -> None:
    found = faults(gpuPool={"maxPods": "many", "driver": "None"})

    assert set(found) == {"gpuPool.maxPods", "gpuPool.devicePlugin"}


def test_a_rule_is_silent_where_a_value_it_needs_cannot_be_read() -> None:
    found = faults(gpuPool={"driver": "None", "devicePlugin": "perhaps"})

    assert set(found) == {"gpuPool.devicePlugin"}
    assert found["gpuPool.devicePlugin"].rule == "true or false"


def test_a_faulty_item_of_a_list_does_not_move_the_faults_of_the_others() -> None:
    good = {
        "principalId": "11111111-1111-4111-8111-111111111111",
        "principalType": "User",
        "role": "Admin",
    }
    found = faults(
        grafana={
            "roleAssignments": [
                {"role": "Owner"},
                good,
                {**good, "role": "Reader"},
                {**good, "principalId": "me"},
            ]
        }
    )

    assert set(found) == {
        "grafana.roleAssignments[0].principalId",
        "grafana.roleAssignments[0].principalType",
        "grafana.roleAssignments[0].role",
        "grafana.roleAssignments[2].role",
        "grafana.roleAssignments[3].principalId",
    }


def test_the_message_gives_path_value_rule_consequence_and_fix() -> None:
    problem = error(stack({"gpuPool": {"name": "gpu-enabled"}}))

    assert str(problem).splitlines() == [
        "The configuration of this stack has 1 fault. Nothing was changed.",
        "",
        '1. gpuobs:gpuPool.name = "gpu-enabled"',
        "    rule: a Linux node pool's name: 1 to 12 lower-case letters and digits, a letter first",
        "    why:  AKS refuses any other name.",
        "    fix:  shorten it and leave out hyphens and capitals, e.g. gpu or gpua100",
    ]


@pytest.mark.parametrize(
    ("section", "key", "nearest"),
    [
        ("cluster", "credential", "credentials"),
        ("gpuPool", "vm_size", "vmSize"),
        ("gpuPool", "vm-size", "vmSize"),
        ("gpuPool", "VMSize", "vmSize"),
        ("pyroscope", "imagetag", "imageTag"),
        ("grafana", "datasources", "dataSources"),
        ("grafana", "role_assignments", "roleAssignments"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_right_one(
    section: str, key: str, nearest: str
) -> None:
    found = faults(**{section: {key: "x"}})[f"{section}.{key}"]

    assert found.fix == f"did you mean `{nearest}`?"


def test_an_unknown_key_that_belongs_elsewhere_is_sent_there() -> None:
    found = faults(cluster={"subscriptionId": "x"})["cluster.subscriptionId"]

    assert found.fix == "did you mean `gpuobs:azure.subscriptionId`?"


def test_an_unknown_section_is_refused_with_the_nearest_right_one() -> None:
    assert faults(pyroscpe={})["pyroscpe"].fix == "did you mean `gpuobs:pyroscope`?"


def test_missing_sections_are_reported_with_what_to_write() -> None:
    problem = error({})

    assert problem is not None
    assert [fault.path for fault in problem.faults] == ["gpuobs:cluster", "gpuobs:grafana"]
    assert all("existing" in fault.fix and "create" in fault.fix for fault in problem.faults)


@pytest.mark.parametrize("section", ["cluster", "grafana"])
@pytest.mark.parametrize("both", [True, False])
def test_exactly_one_of_existing_and_create_is_needed(section: str, both: bool) -> None:
    value: dict[str, object] = {"existing": {"name": "ab", "resourceGroup": "rg"}, "create": {}}
    sections = {**CREATED, section: value if both else {}}
    problem = error(sections)

    assert problem is not None
    (found,) = problem.faults
    assert found.path == f"gpuobs:{section}"
    assert found.rule.endswith(("both are set", "existing and create are set")) == both
    assert found.rule.endswith(("neither is set", "none is set")) == (not both)


def test_a_number_where_a_text_belongs_has_to_be_quoted() -> None:
    found = faults(pyroscope={"imageTag": 1.20})["pyroscope.imageTag"]

    assert found.rule == "a text"
    assert "quotes" in found.fix


def test_a_text_where_a_list_belongs_is_shown_as_a_list() -> None:
    found = faults(gpuPool={"taints": "sku=gpu:NoSchedule"})["gpuPool.taints"]

    assert found.fix == 'write it as a list: ["sku=gpu:NoSchedule"]'


def test_a_wrong_name_of_a_choice_is_answered_with_the_right_one() -> None:
    found = faults(gpuPool={"osSku": "azurelinux"})["gpuPool.osSku"]

    assert found.rule == "one of Ubuntu, AzureLinux"
    assert found.fix == "did you mean AzureLinux?"


def test_null_is_not_the_driver_named_none() -> None:
    assert "in quotes" in faults(gpuPool={"driver": None})["gpuPool.driver"].fix
    assert (
        settings(gpuPool={"driver": "None", "devicePlugin": False}).gpu_pool.driver
        is GpuDriver.NONE
    )


def test_true_is_not_the_number_one() -> None:
    assert set(faults(gpuPool={"count": True})) == {"gpuPool.count"}


@pytest.mark.handles("secret-in-section")
def test_a_section_that_holds_a_secret_is_refused_unread_and_never_repeated() -> None:
    sections = stack({"azure": {"tags": {"owner": "hunter2"}, "location": "no such place"}})
    problem = error(sections, secret_sections=["azure"])

    assert problem is not None
    (found,) = problem.faults
    assert found.path == "gpuobs:azure"
    assert "secure:" in found.rule
    assert "hunter2" not in str(problem)
    assert "no such place" not in str(problem)


@pytest.mark.handles("secret-in-section")
def test_ciphertext_from_a_stack_file_is_refused_wherever_it_is() -> None:
    values = {"pyroscope": {"extraEnvVars": [{"name": "X", "value": {"secure": "v1:abc:def"}}]}}
    problem = error(stack({"pyroscope": {"values": values}}))

    assert problem is not None
    assert [fault.path for fault in problem.faults] == ["gpuobs:pyroscope"]
    assert "v1:abc" not in str(problem)


def test_the_password_in_a_url_is_not_repeated() -> None:
    problem = error(stack({"prometheus": {"url": "https://me:hunter2@prometheus"}}))

    assert problem is not None
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize("key", ["password", "clientSecret", "accountKey", "sas_token", "api_key"])
def test_a_value_under_a_name_of_secrets_is_not_shown(key: str) -> None:
    assert "hunter2" not in shown("hunter2", f"azure.tags.{key}")


def test_a_long_value_is_shortened() -> None:
    text = shown("x" * 500)

    assert len(text) < 100
    assert "500 characters" in text


def test_a_value_cannot_write_control_characters_to_the_terminal() -> None:
    assert shown("\x1b[31mred\n") == '"\\x1b[31mred\\n"'


def test_sections_are_taken_from_the_flat_configuration_of_a_program() -> None:
    flat = {
        "gpuobs:cluster": json.dumps(EXISTING["cluster"]),
        "gpuobs:oops": "text",
        "gpuobs:prometheus": "",
        "azure-native:location": "westeurope",
    }

    assert sections_of(flat) == {
        "cluster": EXISTING["cluster"],
        "oops": "text",
        "prometheus": None,
    }
    assert load({**EXISTING, "prometheus": None}) == load(EXISTING)


# --- properties --------------------------------------------------------------------------------


@given(st.dictionaries(st.sampled_from(SECTIONS) | st.text(max_size=12), json_values, max_size=4))
def test_any_sections_are_read_or_refused_in_our_own_words(sections: dict[str, object]) -> None:
    problem = error(sections)

    if problem is not None:
        assert problem.faults
        for fault in problem.faults:
            _assert_told(fault)


@given(st.sampled_from(PATHS), json_values)
def test_any_value_of_any_setting_is_taken_or_refused_at_its_path(path: str, value: object) -> None:
    problem = error(_at(path, value))

    for fault in problem.faults if problem is not None else ():
        _assert_told(fault)
        section = path.split(".", maxsplit=1)[0]
        # Either it is there, or a rule between sections says what it has to do with it.
        assert section in f"{fault.path} {fault.rule}", "a fault where nothing was changed"


@given(st.text(min_size=1, max_size=100))
def test_any_name_of_a_private_link_is_taken_or_refused_by_name(name: str) -> None:
    found = faults(pyroscope={"privateLink": {"name": name}})
    legal = (
        len(name) <= 80
        and name.isascii()
        and all(c.isalnum() or c in "_.-" for c in name)
        and name[0].isalnum()
        and (name[-1].isalnum() or name[-1] == "_")
    )

    assert set(found) == (set() if legal else {"pyroscope.privateLink.name"})


def _assert_told(fault: Fault) -> None:
    assert fault.path.startswith("gpuobs:")
    assert fault.rule
    assert fault.why
    assert fault.fix
    text = str(fault).removeprefix(fault.path)
    for jargon in ("pydantic", "Input should", "extra_forbidden", "validation error", "PydanticC"):
        assert jargon not in text
