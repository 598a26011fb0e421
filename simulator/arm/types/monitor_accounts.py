"""Azure Monitor workspaces (managed Prometheus), with the default collection rules they bring."""

import uuid

from simulator.arm import schema
from simulator.arm.errors import ArmError
from simulator.arm.polling import MONITOR
from simulator.arm.resource_type import Call, ResourceType
from simulator.values import JsonObject, as_object, as_text
from simulator.world import Resource

RULES = "Microsoft.Insights/dataCollectionRules"
ENDPOINTS = "Microsoft.Insights/dataCollectionEndpoints"


class MonitorAccounts(ResourceType):
    """``Microsoft.Monitor/accounts``: PUT synchronous and always 200, DELETE long-running.

    The Azure CLI sends 2025-10-03 (``az monitor account``), everybody else 2023-04-03.
    """

    type = "Microsoft.Monitor/accounts"
    wire_type = "Microsoft.Monitor/accounts"
    versions = ("2023-04-03", "2025-10-03")
    name_pattern = r"[a-zA-Z0-9][-a-zA-Z0-9]{2,61}[a-zA-Z0-9]"
    long_running = MONITOR
    synchronous = frozenset({"PUT"})
    delete_seconds = 60
    schema = schema.envelope(
        schema.record(
            {
                "publicNetworkAccess": schema.text("Enabled", "Disabled"),
                **schema.computed(
                    "provisioningState",
                    "accountId",
                    "metrics",
                    "defaultIngestionSettings",
                    "privateEndpointConnections",
                ),
            }
        )
    )

    def put_status(self, status: int) -> int:
        """A new one is 200, too."""
        return 200

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Account id, query endpoint and default rules are there at once."""
        new.properties["provisioningState"] = "Succeeded"
        if old is not None:
            return
        location = as_text(new.body.get("location")).lower().replace(" ", "")
        new.body["location"] = location
        account = str(uuid.uuid4())
        new.properties["accountId"] = account
        group = (
            f"/subscriptions/{call.id.subscription}/resourceGroups/MA_{new.name}_{location}_managed"
        )
        insights = f"{group}/providers/Microsoft.Insights"
        rule, endpoint = (
            f"{insights}/dataCollectionRules/{new.name}",
            f"{insights}/dataCollectionEndpoints/{new.name}",
        )
        new.properties["defaultIngestionSettings"] = {
            "dataCollectionRuleResourceId": rule,
            "dataCollectionEndpointResourceId": endpoint,
        }
        self.world.put(
            Resource(
                group,
                "Microsoft.Resources/resourceGroups",
                {
                    "location": location,
                    "managedBy": new.id,
                    "properties": {"provisioningState": "Succeeded"},
                },
            )
        )
        for kind, identifier in ((ENDPOINTS, endpoint), (RULES, rule)):
            self.world.put(
                Resource(
                    identifier,
                    kind,
                    {"location": location, "properties": {"provisioningState": "Succeeded"}},
                )
            )

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """The managed group goes too."""
        settings = as_object(resource.properties.get("defaultIngestionSettings"))
        rule = as_text(settings.get("dataCollectionRuleResourceId"))
        if rule:
            self.world.drop("/".join(rule.split("/")[:5]))
        return None

    def wire(self, resource: Resource) -> JsonObject:
        """Lower case in places, and with this simulator's query endpoint."""
        shown = super().wire(resource)
        shown["id"] = resource.id.replace("/resourceGroups/", "/resourcegroups/").replace(
            "/Microsoft.Monitor/", "/microsoft.monitor/"
        )
        properties = as_object(shown["properties"])
        properties["metrics"] = {
            "prometheusQueryEndpoint": f"{self.world.arm_url}/prometheus/{resource.name}",
            "internalId": f"mac_{properties.get('accountId')}",
        }
        return shown
