"""User-assigned identities, and the tokens of others that they trust.

From azure-rest-api-specs, ``Microsoft.ManagedIdentity`` 2023-01-31 (``ManagedIdentity.json``), and
the documentation of workload identity federation: at most 20 credentials an identity, one for each
pair of issuer and subject, matched to the letter.
"""

import uuid
from typing import Final

from simulator.arm import schema
from simulator.arm.errors import ArmError, bad_request, conflict
from simulator.arm.identities import new_principal
from simulator.arm.resource_type import AT_ONCE, Call, ResourceType
from simulator.values import as_text
from simulator.world import TENANT_ID, Resource

IDENTITIES: Final = "Microsoft.ManagedIdentity/userAssignedIdentities"
CREDENTIALS: Final = f"{IDENTITIES}/federatedIdentityCredentials"
VERSIONS: Final = ("2023-01-31", "2024-11-30")
"""azure-native sends 2023-01-31, the Azure CLI 2024-11-30."""
MOST_CREDENTIALS: Final = 20


class UserAssignedIdentities(ResourceType):
    """``Microsoft.ManagedIdentity/userAssignedIdentities``; synchronous."""

    type = IDENTITIES
    versions = VERSIONS
    name_pattern = r"[a-zA-Z0-9][-_a-zA-Z0-9]{2,127}"
    synchronous = AT_ONCE
    schema = schema.envelope(
        schema.record(
            {
                "isolationScope": schema.text("None", "Regional", since="2024-11-30"),
                **schema.computed("clientId", "principalId", "tenantId"),
            }
        )
    )

    def begin(self, call: Call, new: Resource, old: Resource | None) -> None:
        """A principal, which the directory learns of a little later."""
        if old is None:
            new.properties["principalId"] = new_principal(self.world, new.name)
            new.properties["clientId"] = str(uuid.uuid4())
            new.properties["tenantId"] = TENANT_ID

    def finish_delete(self, resource: Resource) -> ArmError | None:
        """Its principal is gone as well; roles that it held name nobody."""
        self.world.principals.pop(as_text(resource.properties.get("principalId")), None)
        return None


class FederatedIdentityCredentials(ResourceType):
    """``userAssignedIdentities/federatedIdentityCredentials``; synchronous."""

    type = CREDENTIALS
    versions = VERSIONS
    name_pattern = r"[a-zA-Z0-9][-_a-zA-Z0-9]{2,119}"
    synchronous = AT_ONCE
    has_system_data = False
    schema = schema.record(
        {
            "properties": schema.record(
                {
                    "issuer": schema.text(required=True, pattern=r"https://\S+"),
                    "subject": schema.text(required=True),
                    "audiences": schema.items(schema.text(), required=True),
                    "claimsMatchingExpression": schema.anything(since="2024-11-30"),
                },
                required=True,
            ),
            **schema.ENVELOPE,
        }
    )

    def check(self, call: Call, new: Resource, old: Resource | None) -> None:
        """Not too many, and no two of one issuer and subject."""
        owner = new.id.rpartition("/federatedIdentityCredentials/")[0]
        others = [
            item
            for item in self.world.of_type(self.type)
            if item.key.startswith(owner.lower() + "/") and item.key != new.key
        ]
        if len(others) >= MOST_CREDENTIALS:
            raise bad_request(
                f"Too many Federated Identity Credentials: at most {MOST_CREDENTIALS}.",
                "FederatedIdentityCredentialLimitExceeded",
            )
        if _pair(new) in map(_pair, others):
            raise conflict(
                "ConflictingFederatedIdentityCredential",
                "Issuer and subject combination already exists for this Managed Identity.",
            )


def _pair(credential: Resource) -> tuple[str, str]:
    properties = credential.properties
    return as_text(properties.get("issuer")), as_text(properties.get("subject"))
