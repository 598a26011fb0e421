"""Who is signed in to Azure: one identity for Pulumi's provider and for the program's own steps.

The steps run by themselves, months later too, and read the ``ARM_*`` variables only. An identity
that stands in the stack's configuration of the provider (``azure-native:clientId``, ...) is one
that they do not have, unless a variable says the same.
"""

from collections.abc import Iterator, Mapping

from infra.faults import Fault

PROVIDER = "azure-native"

_VARIABLES = {
    "clientId": "ARM_CLIENT_ID",
    "tenantId": "ARM_TENANT_ID",
    "clientSecret": "ARM_CLIENT_SECRET",
    "clientCertificatePath": "ARM_CLIENT_CERTIFICATE_PATH",
    "clientCertificatePassword": "ARM_CLIENT_CERTIFICATE_PASSWORD",
    "useOidc": "ARM_USE_OIDC",
    "oidcToken": "ARM_OIDC_TOKEN",
    "oidcTokenFilePath": "ARM_OIDC_TOKEN_FILE_PATH",
    "oidcRequestUrl": "ACTIONS_ID_TOKEN_REQUEST_URL",
    "oidcRequestToken": "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "oidcAudience": "ARM_OIDC_AUDIENCE",
    "useMsi": "ARM_USE_MSI",
    "useDefaultAzureCredential": "ARM_USE_DEFAULT_AZURE_CREDENTIAL",
}
"""Of the provider's configuration, with the variable that it reads instead: its own source."""
_OFF_UNLESS_TRUE = ("useOidc", "useMsi", "useDefaultAzureCredential")


def identity_faults(
    configuration: Mapping[str, str], environment: Mapping[str, str], stack: str
) -> Iterator[Fault]:
    """What of the provider's identity only the stack's ``configuration`` says."""
    only_there = [
        key
        for key, variable in _VARIABLES.items()
        if _said(key, configuration.get(f"{PROVIDER}:{key}", ""))
        and configuration[f"{PROVIDER}:{key}"] != environment.get(variable, "")
    ]
    if only_there == ["tenantId"] and "ARM_CLIENT_ID" not in environment:
        return  # nothing that signs in reads it
    if only_there:
        names = ", ".join(f"{PROVIDER}:{key}" for key in only_there)
        yield Fault(
            path=names,
            rule="an identity is given in the environment, not in the stack's configuration",
            why="the program's own steps (data sources, approval, dashboard) read the ARM_* "
            "variables only: with this they would be somebody else than the provider, and fail "
            "half-way on rights that the other one has.",
            fix=f"set {', '.join(_VARIABLES[key] for key in only_there)}, and: "
            + "; ".join(f"pulumi config rm {PROVIDER}:{key} --stack {stack}" for key in only_there),
        )


def _said(key: str, value: str) -> bool:
    return value == "true" if key in _OFF_UNLESS_TRUE else bool(value)
