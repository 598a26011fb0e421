"""An identity that only the provider would have is refused by the names of its settings."""

from collections.abc import Mapping

import pytest

from infra.identity import identity_faults


@pytest.mark.handles("two-identities")
@pytest.mark.parametrize(
    ("configured", "environment", "refused"),
    [
        ({}, {}, ""),
        ({"subscriptionId": "s", "location": "westeurope"}, {}, ""),
        ({"clientId": "c"}, {}, "azure-native:clientId"),
        ({"clientId": "c"}, {"ARM_CLIENT_ID": "c"}, ""),
        ({"clientId": "c"}, {"ARM_CLIENT_ID": "other"}, "azure-native:clientId"),
        ({"useMsi": "true"}, {}, "azure-native:useMsi"),
        ({"useMsi": "false"}, {}, ""),
        ({"useMsi": "true"}, {"ARM_USE_MSI": "true"}, ""),
        ({"tenantId": "t"}, {}, ""),
        ({"tenantId": "t"}, {"ARM_CLIENT_ID": "c"}, "azure-native:tenantId"),
        (
            {"clientId": "c", "clientSecret": "hush", "tenantId": "t"},
            {},
            "azure-native:clientId, azure-native:tenantId, azure-native:clientSecret",
        ),
    ],
)
def test_what_only_the_provider_would_be_told_is_refused(
    configured: Mapping[str, str], environment: Mapping[str, str], refused: str
) -> None:
    configuration = {f"azure-native:{key}": value for key, value in configured.items()}
    found = list(identity_faults(configuration, environment, "dev"))
    assert [fault.path for fault in found] == ([refused] if refused else [])
    assert not any("hush" in str(fault) for fault in found)
    for fault in found:
        assert "--stack dev" in fault.fix
