"""Storage accounts, their Blob service and its containers.

From azure-rest-api-specs, ``Microsoft.Storage`` 2024-01-01 (``storage.json``, ``blob.json``): an
account is made by a long-running PUT (202 with ``Location``; 200 where it is there), deleted at
once; the Blob service is there with its account and only changed; names of accounts are unique in
all of Azure, and ``checkNameAvailability`` of the subscription says which are free. Keys and SAS
are not handed out here: nobody may want one. The data in a container is
:mod:`simulator.storage`'s.
"""

import re
from typing import Final

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request, conflict
from simulator.arm.polling import STORAGE
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.http import Response
from simulator.values import JsonObject, as_object, as_text, dig, merge_patch, texts
from simulator.world import Resource, World

ACCOUNTS: Final = "Microsoft.Storage/storageAccounts"
SERVICES: Final = f"{ACCOUNTS}/blobServices"
CONTAINERS: Final = f"{SERVICES}/containers"
VERSIONS: Final = ("2023-05-01", "2024-01-01", "2025-01-01", "2025-06-01")
"""azure-native sends 2024-01-01, the Azure CLI 2025-06-01."""
_ALLOWED: Final = {"defaultAction": "Allow", "bypass": "AzureServices"}
_DELETE_RETENTION: Final = schema.record(
    {
        "enabled": schema.flag(),
        "days": schema.integer(),
        "allowPermanentDelete": schema.flag(),
    }
)

_NAME: Final = r"[a-z0-9]{3,24}"
_RULE: Final = (
    "Storage account name must be between 3 and 24 characters in length and use numbers and "
    "lower-case letters only."
)
_TAKEN: Final = "The storage account named {} is already taken."


def is_taken(world: World, name: str) -> bool:
    """Whether somebody has a storage account of this name, here or elsewhere in Azure."""
    taken = {item.name.lower() for item in world.of_type(ACCOUNTS)}
    taken |= {item.lower() for item in texts(world.settings.get("takenNames"))}
    return name.lower() in taken


def availability(world: World, body: JsonObject) -> JsonObject:
    """The answer of ``checkNameAvailability`` (``CheckNameAvailabilityResult``).

    Raises:
        ArmError: the body does not ask for a storage account.
    """
    name = as_text(body.get("name"))
    if not name or body.get("type") != ACCOUNTS:
        raise bad_request(f"The request wants a name, and {ACCOUNTS} as type.", "InvalidArgument")
    if not re.fullmatch(_NAME, name):
        reason = "AccountNameInvalid"
        message = f"{name} is not a valid storage account name. " + _RULE
    elif is_taken(world, name):
        reason, message = "AlreadyExists", _TAKEN.format(name)
    else:
        return {"nameAvailable": True}
    return {"nameAvailable": False, "reason": reason, "message": message}


class StorageAccounts(ResourceType):
    """``Microsoft.Storage/storageAccounts``."""

    type = ACCOUNTS
    versions = VERSIONS
    name_pattern = _NAME
    name_refused = "AccountNameInvalid"
    long_running = STORAGE
    synchronous = frozenset({"DELETE"})
    create_seconds = 20
    update_seconds = 2
    schema = schema.record(
        {
            "location": schema.text(required=True, create_only=True),
            "tags": schema.TAGS,
            "kind": schema.text(
                "Storage",
                "StorageV2",
                "BlobStorage",
                "FileStorage",
                "BlockBlobStorage",
                required=True,
            ),
            "sku": schema.record(
                {"name": schema.text(required=True), **schema.computed("tier")}, required=True
            ),
            "identity": schema.anything(),
            "extendedLocation": schema.anything(),
            "properties": schema.record(
                {
                    "accessTier": schema.text("Hot", "Cool", "Cold", "Premium"),
                    "allowBlobPublicAccess": schema.flag(default=False),
                    "allowCrossTenantReplication": schema.flag(default=False),
                    "allowSharedKeyAccess": schema.flag(),
                    "allowedCopyScope": schema.anything(),
                    "azureFilesIdentityBasedAuthentication": schema.anything(),
                    "customDomain": schema.anything(),
                    "defaultToOAuthAuthentication": schema.flag(),
                    "dnsEndpointType": schema.text("Standard", "AzureDnsZone"),
                    "enableExtendedGroups": schema.flag(),
                    "encryption": schema.anything(),
                    "immutableStorageWithVersioning": schema.anything(),
                    "isHnsEnabled": schema.flag(create_only=True),
                    "isLocalUserEnabled": schema.flag(),
                    "isNfsV3Enabled": schema.flag(create_only=True),
                    "isSftpEnabled": schema.flag(),
                    "keyPolicy": schema.anything(),
                    "largeFileSharesState": schema.text("Disabled", "Enabled"),
                    "minimumTlsVersion": schema.text(
                        "TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3", default="TLS1_0"
                    ),
                    "networkAcls": schema.record(
                        {
                            "bypass": schema.text(),
                            "defaultAction": schema.text("Allow", "Deny", required=True),
                            "ipRules": schema.anything(),
                            "virtualNetworkRules": schema.anything(),
                            "resourceAccessRules": schema.anything(),
                            "ipv6Rules": schema.anything(),
                        }
                    ),
                    "publicNetworkAccess": schema.text("Enabled", "Disabled", "SecuredByPerimeter"),
                    "routingPreference": schema.anything(),
                    "sasPolicy": schema.anything(),
                    "supportsHttpsTrafficOnly": schema.flag(default=True),
                    **schema.computed(
                        "provisioningState",
                        "primaryEndpoints",
                        "primaryLocation",
                        "statusOfPrimary",
                        "creationTime",
                        "keyCreationTime",
                        "privateEndpointConnections",
                    ),
                }
            ),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """A name that nobody in Azure has."""
        if old is None and is_taken(self.world, call.id.name):
            raise conflict("StorageAccountAlreadyTaken", _TAKEN.format(call.id.name))

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Endpoints, and a Blob service, at once."""
        new.properties.setdefault("networkAcls", dict(_ALLOWED))
        new.properties["primaryLocation"] = new.body["location"]
        new.properties["primaryEndpoints"] = {"blob": f"https://{new.name}.blob.core.windows.net/"}
        as_object(new.body["sku"])["tier"] = "Standard"
        if old is None:
            service = f"{new.id}/blobServices/default"
            self.world.put(Resource(service, SERVICES, {"properties": _service_defaults()}))

    def put(self, call: Call) -> Response:
        """Of a new one only the way to its result is answered; another is changed at once."""
        there = self.world.get(call.id.text) is not None
        answer = super().put(call)
        return answer if there else Response(202, None, answer.headers)

    def patch(self, call: Call) -> Response:
        """Tags and properties alike."""
        resource = self.existing(call.id)
        body = call.request.json_object()
        faults = schema.problems(schema.record({**self.schema.fields, **_OPTIONAL}), body)
        if faults:
            raise self.invalid(faults)
        resource.body.update(as_object(merge_patch(resource.body, body)))
        self.stamp(call, resource, resource)
        self.world.touch()
        return Response(200, self.wire(resource))


_OPTIONAL: Final = {
    "location": schema.text(),
    "kind": schema.text(),
    "sku": schema.record({"name": schema.text()}),
}


def _service_defaults() -> JsonObject:
    return {"cors": {"corsRules": []}, "deleteRetentionPolicy": {"enabled": False}}


class BlobServices(ResourceType):
    """``blobServices/default``: made and deleted with its account."""

    type = SERVICES
    versions = VERSIONS
    name_pattern = r"default"
    synchronous = AT_ONCE
    has_system_data = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "automaticSnapshotPolicyEnabled": schema.flag(),
                    "changeFeed": schema.anything(),
                    "containerDeleteRetentionPolicy": _DELETE_RETENTION,
                    "cors": schema.anything(),
                    "defaultServiceVersion": schema.text(),
                    "deleteRetentionPolicy": _DELETE_RETENTION,
                    "isVersioningEnabled": schema.flag(),
                    "lastAccessTimeTrackingPolicy": schema.anything(),
                    "restorePolicy": schema.anything(),
                }
            ),
            **schema.computed("sku"),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Days where something is kept."""
        for policy in ("deleteRetentionPolicy", "containerDeleteRetentionPolicy"):
            given = as_object(new.properties.get(policy))
            if given.get("enabled") is True and "days" not in given:
                raise bad_request(f"{policy}.days is required where it is enabled.", "InvalidInput")

    def delete(self, call: Call) -> Response:
        """There is no such operation."""
        raise ArmError(405, "MethodNotAllowed", "The Blob service goes with its account.")

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """What is not said is as at first."""
        for key, value in _service_defaults().items():
            new.properties.setdefault(key, value)


class Containers(ResourceType):
    """``blobServices/default/containers``."""

    type = CONTAINERS
    versions = VERSIONS
    name_pattern = r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*|\$root|\$web|\$logs"
    synchronous = AT_ONCE
    has_system_data = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "publicAccess": schema.text("None", "Blob", "Container", default="None"),
                    "metadata": schema.mapping(),
                    "defaultEncryptionScope": schema.text(),
                    "denyEncryptionScopeOverride": schema.flag(),
                    "enableNfsV3AllSquash": schema.flag(),
                    "enableNfsV3RootSquash": schema.flag(),
                    "immutableStorageWithVersioning": schema.anything(),
                    **schema.computed(
                        "lastModifiedTime", "leaseState", "leaseStatus", "hasLegalHold", "deleted"
                    ),
                }
            ),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Public only where the account lets it."""
        account = self.world.get(new.id.split("/blobServices/")[0])
        allowed = account is not None and account.properties.get("allowBlobPublicAccess") is True
        if as_text(new.properties.get("publicAccess"), "None") != "None" and not allowed:
            raise conflict(
                "PublicAccessNotPermitted",
                "Public access is not permitted on this storage account.",
            )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Free of leases."""
        new.properties["leaseState"] = "Available"
        new.properties["leaseStatus"] = "Unlocked"


def is_open(account: Resource) -> bool:
    """Whether the account's firewall lets every network in."""
    access = as_text(account.properties.get("publicNetworkAccess"), "Enabled")
    action = as_text(dig(account.properties, "networkAcls", "defaultAction"), "Allow")
    return (access, action) == ("Enabled", "Allow")
