"""The regions of the public cloud, as ``/subscriptions/<id>/locations`` lists them.

Names, display names and pairs are those of Microsoft's list of regions (learn.microsoft.com,
"Azure regions list"); every resource type here is offered in all of them.
"""

from typing import Final

from simulator.values import JsonObject

REGIONS: Final = {
    "australiaeast": ("Australia East", "Asia Pacific"),
    "australiasoutheast": ("Australia Southeast", "Asia Pacific"),
    "brazilsouth": ("Brazil South", "South America"),
    "canadacentral": ("Canada Central", "Canada"),
    "canadaeast": ("Canada East", "Canada"),
    "centralindia": ("Central India", "Asia Pacific"),
    "centralus": ("Central US", "US"),
    "eastasia": ("East Asia", "Asia Pacific"),
    "eastus": ("East US", "US"),
    "eastus2": ("East US 2", "US"),
    "francecentral": ("France Central", "Europe"),
    "germanywestcentral": ("Germany West Central", "Europe"),
    "israelcentral": ("Israel Central", "Middle East"),
    "italynorth": ("Italy North", "Europe"),
    "japaneast": ("Japan East", "Asia Pacific"),
    "japanwest": ("Japan West", "Asia Pacific"),
    "koreacentral": ("Korea Central", "Asia Pacific"),
    "mexicocentral": ("Mexico Central", "Mexico"),
    "northcentralus": ("North Central US", "US"),
    "northeurope": ("North Europe", "Europe"),
    "norwayeast": ("Norway East", "Europe"),
    "polandcentral": ("Poland Central", "Europe"),
    "qatarcentral": ("Qatar Central", "Middle East"),
    "southafricanorth": ("South Africa North", "Africa"),
    "southcentralus": ("South Central US", "US"),
    "southeastasia": ("Southeast Asia", "Asia Pacific"),
    "southindia": ("South India", "Asia Pacific"),
    "spaincentral": ("Spain Central", "Europe"),
    "swedencentral": ("Sweden Central", "Europe"),
    "switzerlandnorth": ("Switzerland North", "Europe"),
    "uaenorth": ("UAE North", "Middle East"),
    "uksouth": ("UK South", "UK"),
    "ukwest": ("UK West", "UK"),
    "westcentralus": ("West Central US", "US"),
    "westeurope": ("West Europe", "Europe"),
    "westus": ("West US", "US"),
    "westus2": ("West US 2", "US"),
    "westus3": ("West US 3", "US"),
}
"""Display name and geography group by name."""


def normalized(location: str) -> str:
    """The name of a region that is written in any of Azure's ways, e.g. ``West Europe``."""
    return location.replace(" ", "").lower()


def listed(subscription: str) -> list[JsonObject]:
    """What ``/subscriptions/<subscription>/locations`` answers."""
    return [
        {
            "id": f"/subscriptions/{subscription}/locations/{name}",
            "name": name,
            "type": "Region",
            "displayName": display,
            "regionalDisplayName": f"({group}) {display}",
            "metadata": {
                "regionType": "Physical",
                "regionCategory": "Recommended",
                "geographyGroup": group,
            },
        }
        for name, (display, group) in REGIONS.items()
    ]
