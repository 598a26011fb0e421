"""The Inspektor Gadget cluster extension: the agent that watches GPU memory allocations.

Also its namespace, where the agent looks for Pyroscope: made before the extension, marked so that
the extension's own chart may carry it too, and protected while Pyroscope is in it
(:mod:`operations.namespace`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import kubernetesconfiguration
from pulumi_command.local import Command

from components.agent_namespace import agent_namespace
from components.agent_operations import (
    AgentPlace,
    namespace_protection,
    restart_for_settings,
)
from components.extension_recovery import NEVER, ExtensionRecoveryArgs, extension_recovery
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from components.present_extension import PresentExtensionArgs, extension_update
from contract.agent import EXTENSION_TYPE
from contract.azure import MANAGED_CLUSTER
from contract.choices import ClusterCredentials


@dataclass(frozen=True, kw_only=True)
class InspektorGadgetArgs:
    """How the extension is installed."""

    cluster_id: pulumi.Input[str]
    """ARM id."""
    cluster_name: pulumi.Input[str]
    resource_group_name: pulumi.Input[str]
    """The cluster's."""
    extension_name: str
    release_train: str
    """``preview`` or ``stable``."""
    version: str | None = None
    """Pinned version; None: the train's newest."""
    auto_upgrade: bool
    """Whether the service installs minor versions by itself; not with a pinned version."""
    azure_monitor_metrics: bool
    """Whether the agent publishes metrics to managed Prometheus; fails without the add-on."""
    settings: Mapping[str, str]
    """Further settings of the extension, with their prefix (``inspektor-gadget.``)."""
    create_namespace: bool
    """Whether its namespace is made here, and deleted last; else it exists and stays."""
    credentials: ClusterCredentials
    """Which kubeconfig protects the namespace."""
    stack_mark: str | None = None
    """Of the stack that the namespace is of; None: it is not marked."""
    helm_release: str | None = None
    """The extension's own Helm release, where it is known not to be named like the extension."""
    unkept: str | None = None
    """Another text each time that the namespace has lost what it was kept by; None: it has not."""
    recovery: ExtensionRecoveryArgs | None = None
    """An extension that Azure could not remove; None: there never was one."""
    present: PresentExtensionArgs | None = None
    """None: it is not there yet, or could not be read."""
    imported: str | None = None
    """ARM id of one that is there already and is to be this one; None: it is made."""
    extension_args: FurtherArgs | None = None
    """Further arguments of the ``kubernetesconfiguration.Extension``."""


class InspektorGadget(pulumi.ComponentResource):
    """The agent on every node. Needs the cluster's kubernetes provider for the namespace."""

    TYPE = "gpuobs:index:InspektorGadget"

    id: pulumi.Output[str]
    """ARM id of the extension."""
    current_version: pulumi.Output[str]
    """Version of the installed agent."""
    namespace: pulumi.Output[str]
    """Namespace of the agent, once it exists."""

    def __init__(
        self, name: str, args: InspektorGadgetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        # What is there already is no input: it would be another one at the next update.
        not_inputs = {"imported", "present", "recovery", "stack_mark", "unkept"}
        inputs = component_inputs(args, leave_out=not_inputs)
        super().__init__(self.TYPE, name, inputs, opts)
        cluster = deleted_with(opts)
        mark = args.stack_mark if args.create_namespace else None
        created = args.create_namespace
        namespace = agent_namespace(self, name, mark, created=created, deleted_with=cluster)
        place = AgentPlace(
            cluster_id=args.cluster_id,
            admin=args.credentials is ClusterCredentials.ADMIN,
            namespace=namespace,
            deleted_with=cluster,
        )
        # A cluster extension's release is named after the extension (AML-Kubernetes 162).
        release = (args.helm_release or args.extension_name) if args.create_namespace else None
        kept = namespace_protection(self, name, place, release, mark, args.unkept)
        recovered = extension_recovery(self, name, place, args.recovery)
        extension = _extension(self, name, args, [namespace, kept], recovered, cluster)
        restart_for_settings(self, name, place, args.settings, extension)
        self.id = extension.id
        self.current_version = extension.current_version
        # The namespace's own id, so that what is placed into it is replaced along with it.
        self.namespace = namespace.id
        self.register_outputs(
            {
                "id": self.id,
                "currentVersion": self.current_version,
                "namespace": self.namespace,
            }
        )


def _extension(
    parent: InspektorGadget,
    name: str,
    args: InspektorGadgetArgs,
    before: list[pulumi.Resource],
    recovered: Command | None,
    cluster: pulumi.Resource | None,
) -> kubernetesconfiguration.Extension:
    provider, _, resource_name = MANAGED_CLUSTER.partition("/")
    update = extension_update(
        args.present,
        settings={
            **args.settings,
            "gpuObservability.enabled": "true",
            # Said either way: an update only adds settings, so leaving it out would not turn it
            # off.
            "azureMonitor.enabled": "true" if args.azure_monitor_metrics else "false",
        },
        release_train=args.release_train,
        auto_upgrade=args.auto_upgrade,
        version=args.version,
    )
    return kubernetesconfiguration.Extension(
        f"{name}-extension",
        extension_name=args.extension_name,
        extension_type=EXTENSION_TYPE,
        cluster_rp=provider,
        cluster_resource_name=resource_name,
        cluster_name=args.cluster_name,
        resource_group_name=args.resource_group_name,
        release_train=args.release_train,
        auto_upgrade_minor_version=args.auto_upgrade,
        version=args.version,
        configuration_settings=update.settings,
        opts=pulumi.ResourceOptions(
            parent=parent,
            transformations=adding("extension_args", args.extension_args),
            # Deleting the namespace while the extension exists leaves both stuck: made first,
            # it is deleted last (AKS 4543).
            depends_on=[*before, *([recovered] if recovered is not None else [])],
            # An input by its declaration, but what the service reports; a refresh would bring
            # it in and the next preview take it out, for ever. Azure sets it anew with each change.
            ignore_changes=["statuses", *update.ignored],
            # Neither can be changed, which the provider does not know. What is imported has a
            # scope that Azure filled in.
            replace_on_changes=None
            if args.imported
            else ["extensionType", "scope", *update.replaced],
            # One that Azure has forgotten the engine still knows.
            replacement_trigger=recovered.stdout if recovered is not None else NEVER,
            # One extension of a name, and of this type, in a cluster.
            delete_before_replace=True,
            import_=args.imported,
            # An extension goes with its cluster.
            deleted_with=cluster,
        ),
    )
