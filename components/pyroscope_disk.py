"""The disk of the profiles: a claim that a StatefulSet made, and that grows in place.

Kubernetes never changes the claim templates of a StatefulSet, and a new one finds the claim of its
name and uses it as it is: a size that changes there replaces the way to the profiles and grows no
disk. So the template stays as it was made, and the claim itself is asked for more.
"""

from dataclasses import dataclass

import pulumi

CLAIM_PATCH_TYPE = "kubernetes:core/v1:PersistentVolumeClaimPatch"
CLAIM = "data-pyroscope-0"
"""The chart's volume of the release's first and only pod."""


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


def grow_claim(
    parent: pulumi.Resource,
    name: str,
    namespace: pulumi.Input[str],
    disk: DiskArgs | None,
    release: pulumi.Resource,
    cluster: pulumi.Resource | None,
) -> None:
    """Ask for the size that the disk shall grow to, which its storage class must permit."""
    if disk is None or disk.grown_to is None:
        return
    # By its type's name: see the namespace of the agent.
    pulumi.CustomResource(
        CLAIM_PATCH_TYPE,
        name,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": CLAIM,
                "namespace": namespace,
                # The StatefulSet's controller has set the size that is changed.
                "annotations": {"pulumi.com/patchForce": "true"},
            },
            "spec": {"resources": {"requests": {"storage": disk.grown_to}}},
        },
        pulumi.ResourceOptions(
            parent=parent,
            depends_on=[release],
            # What was asked for stays: there is no way back to the smaller size.
            retain_on_delete=True,
            deleted_with=cluster,
        ),
    )
