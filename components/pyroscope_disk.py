"""The disks of the profiles: claims that a StatefulSet made, and that grow in place.

Kubernetes never changes the claim templates of a StatefulSet, and a new one finds the claim of its
name and uses it as it is: a size that changes there replaces the way to the profiles and grows no
disk. So the template stays as it was made, and the claim itself is asked for more.
"""

from dataclasses import dataclass

import pulumi

from contract.agent import PYROSCOPE_SERVICE
from contract.microservices import ServerComponent

CLAIM_PATCH_TYPE = "kubernetes:core/v1:PersistentVolumeClaimPatch"
CLAIM = "data-pyroscope-0"
"""The chart's volume of the one server's pod."""


@dataclass(frozen=True, kw_only=True)
class DiskArgs:
    """A disk for the profiles; it outlives the release."""

    size: str
    """Kubernetes quantity, e.g. ``50Gi``."""
    storage_class_name: str | None = None
    grown_to: str | None = None
    """The size it shall have now, where it was made with a smaller one."""

    @property
    def claim_template(self) -> str:
        """What the StatefulSet's claim is made from, as one text."""
        return f"disk {self.size} {self.storage_class_name or 'default'}"


def claims(ingesters: int | None) -> tuple[str, ...]:
    """The claims of one server, or of so many ingesters."""
    if ingesters is None:
        return (CLAIM,)
    return tuple(
        f"data-{PYROSCOPE_SERVICE}-{ServerComponent.INGESTER}-{number}"
        for number in range(ingesters)
    )


def grow_claims(
    name: str,
    namespace: pulumi.Input[str],
    disk: DiskArgs | None,
    ingesters: int | None,
    opts: pulumi.ResourceOptions,
) -> None:
    """Ask for the size that the disks shall grow to, which their storage class must permit."""
    if disk is None or disk.grown_to is None:
        return
    for number, claim in enumerate(claims(ingesters)):
        # By its type's name: see the namespace of the agent.
        pulumi.CustomResource(
            CLAIM_PATCH_TYPE,
            name if ingesters is None else f"{name}-{number}",
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": claim,
                    "namespace": namespace,
                    # The StatefulSet's controller has set the size that is changed.
                    "annotations": {"pulumi.com/patchForce": "true"},
                },
                "spec": {"resources": {"requests": {"storage": disk.grown_to}}},
            },
            pulumi.ResourceOptions.merge(
                opts,
                # What was asked for stays: there is no way back to the smaller size.
                pulumi.ResourceOptions(retain_on_delete=True),
            ),
        )
