"""Data collection endpoints, rules, and their associations with a cluster; all synchronous.

Metrics of a cluster flow to a workspace when the cluster is associated with a rule whose
``prometheusForwarder`` stream flows to that workspace.

azure-native, the Azure CLI and most else send 2022-06-01, the newest SDK 2023-03-11; the members
are those of azure-mgmt-monitor 7.0 and of azure-native 3.29.
"""

import uuid
from collections.abc import Sequence

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.arm.schema import Problem
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import Resource

VERSIONS = ("2022-06-01", "2023-03-11")
STREAM = "Microsoft-PrometheusMetrics"
ENDPOINT_ASSOCIATION = "configurationAccessEndpoint"


_OTHER_SOURCES = (
    "performanceCounters",
    "windowsEventLogs",
    "syslog",
    "extensions",
    "logFiles",
    "iisLogs",
    "windowsFirewallLogs",
    "platformTelemetry",
)
_OTHER_DESTINATIONS = (
    "logAnalytics",
    "azureMonitorMetrics",
    "eventHubs",
    "eventHubsDirect",
    "storageBlobsDirect",
    "storageTablesDirect",
    "storageAccounts",
)
_NEW_DESTINATIONS = ("microsoftFabric", "azureDataExplorer")
"""What else a rule may collect and where else to: nothing follows from it here."""


class DataCollectionEndpoints(ResourceType):
    """``Microsoft.Insights/dataCollectionEndpoints``."""

    type = "Microsoft.Insights/dataCollectionEndpoints"
    versions = VERSIONS
    name_pattern = r"[-\w.]{3,44}"
    synchronous = AT_ONCE
    schema = schema.envelope(
        schema.record(
            {
                "description": schema.text(),
                "networkAcls": schema.record(
                    {
                        "publicNetworkAccess": schema.text(
                            "Enabled", "Disabled", "SecuredByPerimeter"
                        )
                    }
                ),
                "immutableId": schema.text(),
                **schema.computed(
                    "provisioningState",
                    "configurationAccess",
                    "logsIngestion",
                    "metricsIngestion",
                    "privateLinkScopedResources",
                    "failoverConfiguration",
                    "metadata",
                ),
            }
        ),
        kind=schema.text("Linux", "Windows"),
        identity=schema.anything(),
    )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Its addresses are there at once."""
        new.properties["provisioningState"] = "Succeeded"
        new.properties.setdefault("networkAcls", {"publicNetworkAccess": "Enabled"})
        if old is not None:
            new.properties["immutableId"] = old.properties.get("immutableId")
        else:
            location = as_text(new.body.get("location"))
            unique = f"{new.name}-{uuid.uuid4().hex[:4]}.{location}-1"
            new.properties["configurationAccess"] = {
                "endpoint": f"https://{unique}.handler.control.monitor.azure.com"
            }
            new.properties["logsIngestion"] = {
                "endpoint": f"https://{unique}.ingest.monitor.azure.com"
            }
            new.properties["metricsIngestion"] = {
                "endpoint": f"https://{unique}.metrics.ingest.monitor.azure.com"
            }
            new.properties["immutableId"] = f"dce-{uuid.uuid4().hex}"

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """One that a rule or an association uses stays."""
        for item in self.world.resources.values():
            used = as_text(item.properties.get("dataCollectionEndpointId"))
            if used.lower() == resource.key:
                return ArmError(
                    409,
                    "Conflict",
                    f"Data collection endpoint {resource.name} is in use by {item.id}.",
                )
        return None


class DataCollectionRules(ResourceType):
    """``Microsoft.Insights/dataCollectionRules``."""

    type = "Microsoft.Insights/dataCollectionRules"
    versions = VERSIONS
    name_pattern = r"[-\w.]{3,64}"
    synchronous = AT_ONCE
    schema = schema.envelope(
        schema.record(
            {
                "description": schema.text(),
                "dataCollectionEndpointId": schema.text(),
                "streamDeclarations": schema.anything(),
                "agentSettings": schema.anything(since="2023-03-11"),
                "references": schema.anything(since="2023-03-11"),
                "dataSources": schema.record(
                    {
                        **{name: schema.anything() for name in _OTHER_SOURCES},
                        "dataImports": schema.anything(since="2023-03-11"),
                        "prometheusForwarder": schema.items(
                            schema.record(
                                {
                                    "name": schema.text(required=True),
                                    "streams": schema.items(
                                        schema.text(STREAM, required=True), required=True
                                    ),
                                    "labelIncludeFilter": schema.mapping(),
                                }
                            )
                        ),
                    }
                ),
                "destinations": schema.record(
                    {
                        **{name: schema.anything() for name in _OTHER_DESTINATIONS},
                        **{name: schema.anything(since="2023-03-11") for name in _NEW_DESTINATIONS},
                        "monitoringAccounts": schema.items(
                            schema.record(
                                {
                                    "name": schema.text(required=True),
                                    "accountResourceId": schema.text(required=True),
                                    **schema.computed("accountId"),
                                }
                            )
                        ),
                    }
                ),
                "dataFlows": schema.items(
                    schema.record(
                        {
                            "streams": schema.items(schema.text(), required=True),
                            "destinations": schema.items(schema.text(), required=True),
                            "transformKql": schema.text(),
                            "outputStream": schema.text(),
                            "builtInTransform": schema.text(),
                            "captureOverflow": schema.flag(since="2023-03-11"),
                        }
                    )
                ),
                **schema.computed("provisioningState", "immutableId", "metadata", "endpoints"),
            },
            required=True,
        ),
        kind=schema.text("Linux", "Windows"),
        identity=schema.anything(),
    )

    def invalid(self, faults: Sequence[Problem]) -> ArmError:
        """One code for all, with the faults one by one in the details (recorded by azapi)."""
        fault = bad_request("Data collection rule is invalid", "InvalidPayload")
        details: list[JsonObject] = []
        for item in faults:
            code = "InvalidDataSource" if "dataSources" in item.path else "InvalidData"
            details.append({"code": code, "message": item.message, "target": item.path})
        fault.details = details
        return fault

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Every flow leads from a declared stream to a declared, existing workspace."""
        properties = new.properties
        endpoint = as_text(properties.get("dataCollectionEndpointId"))
        if endpoint and self.world.get(endpoint) is None:
            raise _invalid(f"Data collection endpoint '{endpoint}' was not found.")
        accounts = as_objects(dig(properties, "destinations", "monitoringAccounts"))
        for account in accounts:
            wanted = as_text(account.get("accountResourceId"))
            if self.world.get(wanted) is None:
                raise _invalid(f"Azure Monitor workspace '{wanted}' was not found.")
        names = {as_text(item.get("name")) for item in accounts}
        sources = as_objects(dig(properties, "dataSources", "prometheusForwarder"))
        streams = {stream for source in sources for stream in texts(source.get("streams"))}
        for flow in as_objects(properties.get("dataFlows")):
            missing = set(texts(flow.get("destinations"))) - names
            if missing:
                raise _invalid(
                    f"Data flow names unknown destinations: {', '.join(sorted(missing))}."
                )
            undeclared = set(texts(flow.get("streams"))) - streams
            if undeclared:
                raise _invalid(
                    f"Data flow names streams of no data source: {', '.join(undeclared)}."
                )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """The immutable id, and the accounts' ids."""
        new.properties["provisioningState"] = "Succeeded"
        new.properties.setdefault("immutableId", f"dcr-{uuid.uuid4().hex}")
        for account in as_objects(dig(new.properties, "destinations", "monitoringAccounts")):
            workspace = self.world.get(as_text(account.get("accountResourceId")))
            if workspace is not None:
                account["accountId"] = workspace.properties.get("accountId")

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """One with associations stays."""
        for item in self.world.of_type("Microsoft.Insights/dataCollectionRuleAssociations"):
            if as_text(item.properties.get("dataCollectionRuleId")).lower() == resource.key:
                return ArmError(
                    409,
                    "Conflict",
                    f"Data collection rule {resource.name} still has the association {item.id}.",
                )
        return None


class DataCollectionRuleAssociations(ResourceType):
    """``Microsoft.Insights/dataCollectionRuleAssociations``, an extension of the cluster."""

    type = "Microsoft.Insights/dataCollectionRuleAssociations"
    versions = VERSIONS
    name_pattern = r".{1,256}"
    synchronous = AT_ONCE
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "description": schema.text(),
                    "dataCollectionRuleId": schema.text(),
                    "dataCollectionEndpointId": schema.text(),
                    **schema.computed("provisioningState", "metadata"),
                },
                required=True,
            ),
            # The Azure CLI sends one; an association has none, and its answer tells none.
            **schema.computed("location"),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Exactly one of rule and endpoint; the endpoint's association has a name of its own."""
        rule = as_text(new.properties.get("dataCollectionRuleId"))
        endpoint = as_text(new.properties.get("dataCollectionEndpointId"))
        if bool(rule) == bool(endpoint):
            raise _invalid(
                "An association has exactly one of dataCollectionRuleId and "
                "dataCollectionEndpointId."
            )
        if bool(endpoint) != (new.name == ENDPOINT_ASSOCIATION):
            raise _invalid(
                "An association with an endpoint, and only that, is named "
                f"'{ENDPOINT_ASSOCIATION}'."
            )
        found = self.world.get(rule or endpoint)
        if found is None:
            raise _invalid(f"'{rule or endpoint}' was not found.")
        scope = self.world.get(new.id.partition("/providers/Microsoft.Insights/")[0])
        if endpoint and scope is not None:
            here, there = (as_text(one.body.get("location")) for one in (scope, found))
            if here.lower() != there.lower():
                raise _invalid(
                    f"Data collection endpoint '{found.name}' is in {there}; the resource it is "
                    f"associated with is in {here}. Both must be in one region."
                )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """In effect at once."""
        new.properties["provisioningState"] = "Succeeded"


def forwards_to(rule: Resource, workspace_id: str) -> bool:
    """Whether a rule's Prometheus stream flows to the workspace."""
    accounts = {
        as_text(item.get("name"))
        for item in as_objects(dig(rule.properties, "destinations", "monitoringAccounts"))
        if as_text(item.get("accountResourceId")).lower() == workspace_id.lower()
    }
    flows: list[JsonObject] = as_objects(rule.properties.get("dataFlows"))
    return any(
        STREAM in texts(flow.get("streams")) and accounts & set(texts(flow.get("destinations")))
        for flow in flows
    )


def _invalid(message: str) -> ArmError:
    fault = bad_request("Data collection rule is invalid", "InvalidPayload")
    fault.details = [as_object({"code": "InvalidData", "message": message})]
    fault.message = f"{fault.message}: {message}"
    return fault
