"""What the Azure CLI keeps on this machine that decides where its tokens are good."""

from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from pathlib import Path

CLOUD_VARIABLE = "AZURE_CLOUD_NAME"
"""The variable that goes before what `az cloud set` keeps."""
_WITHOUT_CLI = ("ARM_USE_MSI", "ARM_USE_OIDC", "ARM_USE_DEFAULT_AZURE_CREDENTIAL")
"""With one of them "true", or a client's id, nobody asks the Azure CLI for a token."""


def cloud_in_use(environment: Mapping[str, str]) -> str:
    """The cloud that the Azure CLI is set to, if tokens come from it; empty: its default."""
    signed_in_otherwise = any(environment.get(name) == "true" for name in _WITHOUT_CLI)
    if signed_in_otherwise or environment.get("ARM_CLIENT_ID"):
        return ""
    if chosen := environment.get(CLOUD_VARIABLE):
        return chosen
    kept = ConfigParser(interpolation=None)
    try:
        folder = environment.get("AZURE_CONFIG_DIR") or Path.home() / ".azure"
        kept.read(Path(folder) / "config", encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError, ConfigParserError):
        return ""
    return kept.get("cloud", "name", fallback="")
