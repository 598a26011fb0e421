"""Cluster extensions: Inspektor Gadget as AKS installs it.

A failed installation stays as a Failed resource that must be deleted before it can be made again; a
failed upgrade leaves what ran before running. Settings are added to those that are there: one that
a request leaves out stays (documentation of the extension). ``statuses`` is the service's own,
whatever a request says.
"""

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request
from simulator.arm.polling import EXTENSION
from simulator.arm.resource_type import Call, ResourceType
from simulator.clock import timestamp
from simulator.http import Response
from simulator.kubernetes import extension_agent
from simulator.values import JsonObject, as_object, as_text, merge_patch
from simulator.world import Operation, Resource

KNOWN = "microsoft.inspektorgadget"

_FIELDS = {
    "extensionType": schema.text(required=True, create_only=True),
    "autoUpgradeMinorVersion": schema.flag(default=True),
    "releaseTrain": schema.text(default="Stable"),
    "version": schema.text(),
    "scope": schema.record(
        {
            "cluster": schema.record({"releaseNamespace": schema.text()}),
            "namespace": schema.record({"targetNamespace": schema.text()}),
        },
        create_only=True,
    ),
    "configurationSettings": schema.mapping(),
    "configurationProtectedSettings": schema.mapping(),
    "statuses": schema.anything(),
    "aksAssignedIdentity": schema.record({"type": schema.text()}),
    **schema.computed(
        "provisioningState",
        "currentVersion",
        "errorInfo",
        "isSystemExtension",
        "customLocationSettings",
        "packageUri",
        "installedVersion",
    ),
}


class Extensions(ResourceType):
    """``Microsoft.KubernetesConfiguration/extensions`` below a cluster; long-running.

    azure-native sends 2023-05-01, the newest SDK 2025-03-01, the Azure CLI's extension
    ``k8s-extension`` 2024-11-01; they have the same members here.
    """

    type = "Microsoft.KubernetesConfiguration/extensions"
    versions = ("2023-05-01", "2024-11-01", "2025-03-01")
    name_pattern = r"[a-zA-Z0-9][a-zA-Z0-9-.]{0,252}"
    long_running = EXTENSION
    create_seconds = 150
    update_seconds = 90
    delete_seconds = 60
    change_refused = "BadRequest"
    schema = schema.record(
        {
            "properties": schema.record(_FIELDS, required=True),
            "identity": schema.record(
                {
                    "type": schema.text("SystemAssigned"),
                    **schema.computed("principalId", "tenantId"),
                }
            ),
            "plan": schema.anything(),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """One extension of a type, on an AKS cluster, with a version only when it is pinned."""
        properties = new.properties
        wanted = as_text(properties.get("extensionType")).lower()
        if wanted != KNOWN:
            raise bad_request(
                f"The extension type '{wanted}' is not known to the simulator; it has {KNOWN}.",
                "ExtensionTypeNotFound",
            )
        if properties.get("version") and properties.get("autoUpgradeMinorVersion") is not False:
            raise bad_request(
                "version can be specified only when autoUpgradeMinorVersion is false.",
                "InvalidParameter",
            )
        if call.id.scope.lower() not in self.world.clusters:
            raise ArmError(
                409,
                "ClusterNotReady",
                f"The cluster '{call.id.scope}' is not running yet.",
            )
        for other in self.world.of_type(self.type):
            same = extension_agent.cluster_id(other) == call.id.scope.lower()
            if same and other.key != new.key:
                raise ArmError(
                    409,
                    "ExtensionTypeConflict",
                    f"The extension type {KNOWN} is installed already as '{other.name}'.",
                )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Version and status are not known yet; protected settings never come back."""
        protected = new.properties.pop("configurationProtectedSettings", None)
        new.hidden["protected"] = protected or {}
        new.properties.setdefault("currentVersion", None)
        new.properties["errorInfo"] = None
        new.properties["isSystemExtension"] = False
        new.properties["statuses"] = []
        before = as_object(old.properties.get("configurationSettings")) if old else {}
        said = as_object(new.properties.get("configurationSettings"))
        new.properties["configurationSettings"] = {**before, **said}

    def finish_put(self, resource: Resource, operation: Operation) -> ArmError | None:
        """Helm has installed it, or not; a version that does not exist is found out only here."""
        verb = "Create" if operation.kind == "create" else "Update"
        if not extension_agent.version_for(resource):
            return ArmError(
                400,
                "ExtensionOperationFailed",
                "The extension operation failed with the following error: Failed to resolve the "
                "extension version from the given values. Version does not exist: release train "
                f"'{resource.properties.get('releaseTrain')}', version "
                f"'{resource.properties.get('version')}'.",
            )
        if resource.hidden.get("failedInstall") is True:
            reason = "cannot re-use a name that is still in use"
        else:
            reason = extension_agent.install(self.world, resource)
        if reason:
            return ArmError(
                400,
                "ExtensionOperationFailed",
                "The extension operation failed with the following error: Error: [ InnerError: "
                f"[Helm installation failed : Resource already existing or invalid : InnerError "
                f"[{reason}]]] occurred while doing the operation : [{verb}] on the config, For "
                "general troubleshooting visit: https://aka.ms/k8s-extensions-TSG",
            )
        resource.properties["currentVersion"] = extension_agent.version_for(resource)
        resource.properties["statuses"] = []
        return None

    def failed_put(self, resource: Resource, operation: Operation) -> None:
        """The resource stays, with the reason in it."""
        if operation.kind == "create":
            resource.hidden["failedInstall"] = True
        error = _error_info(operation)
        resource.properties["errorInfo"] = error
        resource.properties["statuses"] = [
            {
                "code": "InstallationFailed",
                "displayStatus": "",
                "level": "Error",
                "message": error["message"],
                "time": timestamp(),
            }
        ]

    def patch(self, call: Call) -> Response:
        """Settings, train, version; 200 if nothing changes, else 202."""
        resource = self.existing(call.id)
        change = as_object(call.request.json_object().get("properties"))
        allowed = {
            "autoUpgradeMinorVersion",
            "releaseTrain",
            "version",
            "configurationSettings",
            "configurationProtectedSettings",
        }
        unknown = sorted(set(change) - allowed)
        if unknown:
            raise bad_request(f"A PATCH of an extension does not take {', '.join(unknown)}.")
        merged: JsonObject = {
            **resource.body,
            "properties": merge_patch(resource.properties, change),
        }
        faults = schema.problems(self.schema, merged)
        if faults:
            raise self.invalid(faults)
        self.busy(call, resource)
        new = Resource(
            resource.id,
            self.type,
            as_object(schema.accepted(self.schema, merged)),
        )
        if all(new.properties.get(key) == resource.properties.get(key) for key in change):
            return Response(200, self.wire(resource))
        self._carry(call, resource, new)
        self.check(call, new, resource)
        self.begin(call, new, resource)
        self.stamp(call, new, resource)
        self.world.put(new)
        started = self._started_put(call, new, resource)
        return Response(202, started.body, started.headers)

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Helm has removed it, or its namespace is stuck."""
        reason = extension_agent.uninstall(self.world, resource)
        if not reason:
            return None
        return ArmError(
            400,
            "ExtensionOperationFailed",
            "The extension operation failed with the following error: Error: [ InnerError: "
            f"[Helm uninstallation failed : {reason}]] occurred while doing the operation : "
            "[Delete] on the config",
        )

    def failed_delete(self, resource: Resource, operation: Operation) -> None:
        """The resource stays, with the reason in it."""
        resource.properties["errorInfo"] = _error_info(operation)

    def delete(self, call: Call) -> Response:
        """``forceDelete=true`` also takes away one whose uninstallation fails."""
        resource = self.world.get(call.id.text)
        forced = call.request.query.get("forceDelete", "false").lower() == "true"
        if resource is not None and forced:
            self.world.drop(resource.id)
            return Response(200)
        return super().delete(call)

    def wire(self, resource: Resource) -> JsonObject:
        """Without an etag."""
        shown = super().wire(resource)
        shown.pop("etag", None)
        return shown


def _error_info(operation: Operation) -> JsonObject:
    error = as_object(operation.error)
    return {"code": error.get("code"), "message": error.get("message")}
