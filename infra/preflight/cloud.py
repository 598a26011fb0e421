"""The cloud that a stack is deployed to: only Azure's public one has what this program needs.

Azure Managed Grafana makes managed private endpoints in the public cloud only (its documentation),
and without one no profile reaches Grafana. So the hosts and audiences of other clouds are nowhere
here, and another cloud is refused by name.
"""

from collections.abc import Mapping

from contract.lines import line
from infra.azure_cli import CLOUD_VARIABLE
from infra.faults import ConfigurationError, Fault

CONFIGURATION = ("environment", "metadataHost")
"""Keys of the azure-native provider's configuration that choose a cloud."""
_VARIABLES = ("ARM_ENVIRONMENT", "AZURE_ENVIRONMENT", "ARM_METADATA_HOSTNAME")
"""What the provider reads where its configuration says nothing."""
_PUBLIC = ("", "public", "azurecloud", "azurepubliccloud")
_OTHER_HOSTS = (".usgovcloudapi.net", ".chinacloudapi.cn", ".microsoftazure.de")
"""Ends of other clouds' hosts; a metadata host of another name may be a proxy's."""
_OTHER_CLOUDS = ("azureusgovernment", "azurechinacloud", "azuregermancloud")
"""What the Azure CLI calls them (azure.cli.core.cloud); one of another name is somebody's own."""
_RULE = "Azure's public cloud"
_WHY = (
    "Azure Managed Grafana has managed private endpoints in the public cloud only, and without one "
    "no profile reaches it."
)


def check_cloud(
    environment: Mapping[str, str], configured: Mapping[str, str], cli_cloud: str = ""
) -> None:
    """Refuse another cloud than the public one.

    Args:
        environment: the process's variables.
        configured: values of the provider's configuration, by :data:`CONFIGURATION`.
        cli_cloud: what :func:`infra.azure_cli.cloud_in_use` answers.

    Raises:
        ConfigurationError: naming the cloud and where it is chosen.
    """
    named = {f"azure-native:{key}": value for key, value in configured.items()}
    named |= {name: environment.get(name, "") for name in _VARIABLES}
    faults = [
        Fault(
            path=place,
            value=value,
            rule=_RULE,
            why=_WHY,
            fix=f"pulumi config rm {place}" if ":" in place else f"unset {place}",
        )
        for place, value in named.items()
        if _is_other(place, value)
    ]
    if cli_cloud.lower() in _OTHER_CLOUDS:
        chosen = environment.get(CLOUD_VARIABLE) == cli_cloud
        public = f"{line('az', 'cloud', 'set', '--name', 'AzureCloud')}; {line('az', 'login')}"
        faults.append(
            Fault(
                path=CLOUD_VARIABLE if chosen else "az cloud set",
                value=cli_cloud,
                rule=_RULE,
                why=_WHY,
                fix=f"unset {CLOUD_VARIABLE}" if chosen else public,
            )
        )
    if faults:
        raise ConfigurationError(faults)


def _is_other(place: str, value: str) -> bool:
    if "metadata" in place.lower():
        return value.lower().rstrip("/").endswith(_OTHER_HOSTS)
    return value.lower() not in _PUBLIC
