"""Looking up what exists already, all at once, before the first resource is touched.

Facts only; what they mean is :mod:`infra.preflight`'s. No lookup's failure is a failure of the
survey: it becomes a ``Presence`` and the service's own words. Lookups run side by side, because a
preview waits for them.
"""

import itertools
import os
import re
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from contract import agent, azure
from contract.json import Document, as_text, is_list
from contract.messages.survey import (
    ActionGroupFacts,
    ClusterFacts,
    EndpointFacts,
    ExtensionFacts,
    GrafanaFacts,
    InsideFacts,
    InstalledExtension,
    LinkGroupFacts,
    LockFacts,
    NodeSize,
    OnGrafana,
    PoolFacts,
    Presence,
    PrivateLinkFacts,
    PyroscopeFacts,
    RightFacts,
    RoleFacts,
    StorageFacts,
    SubnetFacts,
    Survey,
    SurveyRequest,
    WantedRight,
    WorkspaceFacts,
)
from operations import link_survey, lock_survey, storage_survey
from operations.azure import not_understood, parse_id, presence_of
from operations.clock import GIVE_UP_AFTER
from operations.compute_survey import VmSizes, capability
from operations.credentials import CliAccount, claims_of, fixed_assertion_ends
from operations.eligibility import eligible_permissions
from operations.errors import ExitCode, OperationError, in_short
from operations.registry import login_file
from operations.rights import not_permitted, permits, permits_data
from operations.session import Session

DEADLINE = 20.0
"""Seconds for one lookup whose service is busy or does not answer."""

_THREADS = 8

_NAMESPACE_OF_ANOTHER_RELEASE = re.compile(
    rf'Namespace "{agent.NAMESPACE}".*invalid ownership metadata.*'
    r'"meta\.helm\.sh/release-name"(?:: must be set to| must equal) "([^"]+)"'
)
"""Helm's refusal of a namespace that is not marked for the release it names."""
_NOT_REMOVED = re.compile(r"failed to delete release: ([a-z0-9.-]+)")
"""How Helm ends where the API server refuses to delete an object (pkg/action/uninstall.go)."""

T = TypeVar("T")


def survey(request: SurveyRequest, session: Session) -> Survey:
    """The facts. ``problem`` says why where nothing could be asked at all."""
    try:
        # One token for all the threads, and the first thing that fails without a credential.
        token = _signed_in(request, session)
    except OperationError as error:
        return Survey(problem=f"{error.sentence()}. To fix it, {error.fix}.")
    if request.wait:
        _await_rest(request, session)
    with ThreadPoolExecutor(_THREADS) as pool:
        surveyor = _Surveyor(request, session, pool)
        groups = [pool.submit(surveyor.action_group, one) for one in request.action_group_ids]
        rights = [pool.submit(surveyor.right, one) for one in request.rights]
        found = surveyor.survey(_caller_of(token))
        return found.model_copy(
            update={
                "action_groups": tuple(one.result() for one in groups),
                "rights": tuple(one.result() for one in rights),
            }
        )


def _await_rest(request: SurveyRequest, session: Session) -> None:
    """Wait until nothing that is there is in the middle of an operation, or for so long each."""
    waited_for = (
        (request.cluster_id, azure.MANAGED_CLUSTER_API),
        (request.grafana_id, azure.GRAFANA_API),
        (request.gpu_pool_id, azure.MANAGED_CLUSTER_API),
        (request.extension_id, azure.EXTENSION_API),
    )
    for path, api_version in waited_for:

        def probe(path: str = path or "", api_version: str = api_version) -> None:
            state = session.azure.get(path, api_version, "read its state").text(
                "properties", "provisioningState"
            )
            if not azure.is_at_rest(state):
                raise OperationError(ExitCode.BUSY, f"it is {state}", transient=True)

        with suppress(OperationError):
            if path:
                # What it is then, the survey tells.
                session.clock.poll(
                    probe,
                    what=path,
                    within=request.wait,
                    give_up_after={**GIVE_UP_AFTER, ExitCode.NOT_FOUND: 0.0},
                    quiet=True,
                )


def _signed_in(request: SurveyRequest, session: Session) -> str:
    """A token of whom the provider is.

    The process beside a program signs in before it knows for which subscription: as the default
    account of `az login`, where the provider is the one of its subscription.
    """
    scope = azure.scope_of(azure.ARM_URL)

    def token() -> str:
        found, _ = session.azure.token(scope)
        return found

    if session.azure.credential.is_cli and not _is_providers(request, session):
        subscription = request.subscription_id or request.provider_subscription_id
        session.azure.use(CliAccount(subscription=subscription))
    return session.clock.poll(token, what="a token", within=DEADLINE, quiet=True)


def _is_providers(request: SurveyRequest, session: Session) -> bool:
    try:
        token, _ = session.azure.token(azure.scope_of(azure.ARM_URL))
    except OperationError:
        return False  # of a default account that is signed out; another may not be
    caller = _caller_of(token)
    return (caller.object_id.lower(), caller.tenant_id.lower()) == (
        request.provider_object_id.lower(),
        request.provider_tenant_id.lower(),
    )


@dataclass(frozen=True)
class _Caller:
    object_id: str = ""
    kind: str = ""
    tenant_id: str = ""


@dataclass(frozen=True)
class _Quota:
    family: str = ""
    limit: int | None = None
    used: int | None = None
    cores: int | None = None


class _Surveyor:
    def __init__(self, request: SurveyRequest, session: Session, pool: ThreadPoolExecutor) -> None:
        self._request = request
        self._session = session
        self._pool = pool
        self._subscription = request.subscription_id or request.provider_subscription_id
        self._vm_sizes = VmSizes(self._skus)

    def survey(self, caller: _Caller) -> Survey:
        request = self._request
        principal = caller.object_id or request.provider_object_id
        cluster = self._start(self._cluster, request.cluster_id)
        extension = self._start(self._extension, request.extension_id)
        grafana = self._start(self._grafana, request.grafana_id)
        workspace = self._start(self._workspace, request.workspace_id)
        group = self._start(self._group, request.resource_group)
        other_rules = self._start(
            self._other_rules, request.cluster_id if request.collection_rule_id else None
        )
        quota = self._start(self._quota, request.gpu_vm_size)
        namespaces = {name: self._start(self._is_unregistered, name) for name in request.namespaces}
        roles = self._start(
            partial(self._roles, principal=principal), request.grafana_id if principal else None
        )
        # Two lookups need what others found.
        cluster_facts = _result(cluster, ClusterFacts(presence=Presence.NOT_ASKED))
        may_approve = self._start(self._may_approve, cluster_facts.node_resource_group or None)
        link, storage = self._link_facts(cluster_facts), self._storage_facts()
        sizes = self._start_sizing(cluster_facts)
        grafana_facts = _result(grafana, GrafanaFacts(presence=Presence.NOT_ASKED))
        in_the_way = self._start_looking_in_the_way(cluster_facts, grafana_facts)
        readers = self._start(
            partial(self._roles, principal=grafana_facts.principal_id),
            request.workspace_id if grafana_facts.principal_id else None,
        )
        ones_own = self._start_looking_at_ones_own(grafana_facts)
        on_grafana = self._start(self._on_grafana, grafana_facts.endpoint or None)
        assigned = self._start(self._assigned, request.grafana_id)
        caller_roles = _result(roles, None)
        group_facts = _result(group, (Presence.NOT_ASKED, ""))
        quota_facts = _result(quota, _Quota())
        workspace_facts = _result(workspace, WorkspaceFacts(presence=Presence.NOT_ASKED))
        reader_roles = _result(readers, None)
        may_read = self._holds(reader_roles, azure.Role.MONITORING_DATA_READER)
        return Survey(
            caller_object_id=caller.object_id,
            caller_kind=caller.kind,
            subscription_id=self._subscription,
            unregistered=tuple(name for name, one in namespaces.items() if _result(one, False)),
            cluster=cluster_facts,
            extension=_result(extension, ExtensionFacts(presence=Presence.NOT_ASKED)),
            grafana=_with_roles(
                grafana_facts, caller_roles, self._may_admin(caller_roles, grafana_facts)
            ),
            workspace=workspace_facts.model_copy(update={"grafana_may_read": may_read}),
            other_collection_rules=_result(other_rules, ()),
            resource_group=group_facts[0],
            resource_group_location=group_facts[1],
            registry_login_file=login_file(request.chart_registry or ""),
            assigned=_result(assigned, ()),
            on_grafana=_result(on_grafana, OnGrafana()),
            assertion_seconds=_assertion_seconds(),
            may_approve=_result(may_approve, None),
            quota_family=quota_facts.family,
            quota_limit=quota_facts.limit,
            quota_used=quota_facts.used,
            cores_per_node=quota_facts.cores,
        ).model_copy(update={**link(), **storage(), **in_the_way(), **ones_own(), **sizes()})

    def _start_reading_locks(self) -> "list[Future[tuple[LockFacts, ...]]]":
        request = self._request
        own = request.resource_group
        places = lock_survey.subscriptions(
            (
                request.cluster_id,
                request.grafana_id,
                azure.group_id(self._subscription, own) if own else None,
            )
        )
        return [
            self._pool.submit(lock_survey.locks, self._get_all, subscription, groups)
            for subscription, groups in places.items()
        ]

    def _start_looking_in_the_way(
        self, cluster: ClusterFacts, grafana: GrafanaFacts
    ) -> Callable[[], dict[str, object]]:
        """Begin to look for what others made; the answer has it, by the survey's fields."""
        request = self._request
        there = request.cluster_id if cluster.presence is Presence.FOUND else None
        installed = self._start(self._installed, there)
        locks = self._start_reading_locks()
        asks = request.look_for_access_endpoint
        access_endpoint = self._start(self._access_endpoint, there if asks else None)
        looks = request.look_inside or request.look_at_release
        inside = self._start(self._inside, there if looks else None)
        endpoints = self._start(
            self._endpoints,
            request.grafana_id
            if request.list_endpoints and grafana.presence is Presence.FOUND
            else None,
        )

        def found() -> dict[str, object]:
            return {
                "installed": _result(installed, InstalledExtension(presence=Presence.NOT_ASKED)),
                "inside": _result(inside, InsideFacts(presence=Presence.NOT_ASKED)),
                "endpoints": _result(endpoints, ()),
                "locks": tuple(itertools.chain.from_iterable(one.result() for one in locks)),
                "access_endpoint": _result(access_endpoint, ""),
            }

        return found

    def _start(self, probe: Callable[[str], T], subject: str | None) -> "Future[T] | None":
        """Begin ``probe`` at ``subject``; None where nothing is asked."""
        return self._pool.submit(probe, subject) if subject else None

    def _get(self, path: str, api_version: str, **query: str) -> Document:
        name = azure.name_of(path)

        def probe() -> Document:
            return self._session.azure.get(path, api_version, f"look up {name}", **query)

        return self._session.clock.poll(
            probe,
            what=name,
            within=DEADLINE,
            give_up_after={ExitCode.NOT_FOUND: 0.0, ExitCode.FORBIDDEN: 0.0},
            quiet=True,
        )

    def _resource(self, resource: azure.ResourceId, api_version: str) -> Document:
        """The resource; an answer that is of something else is not understood."""
        found = self._get(resource.text, api_version)
        if found.text("name").lower() != resource.name.lower() or not found.child("properties"):
            raise not_understood(f"look up {resource.name}", "the answer is not that resource")
        return found

    def _get_all(self, path: str, api_version: str, **query: str) -> list[Document]:
        """All pages of a list."""
        page = self._get(path, api_version, **query)
        found = _entries(page, path)
        seen: set[str] = set()
        started = self._session.clock.now()
        while link := page.text("nextLink"):
            if link in seen or self._session.clock.now() - started > DEADLINE:
                raise not_understood(f"look up {path}", "its pages do not end")
            seen.add(link)
            page = self._session.azure.follow(link, f"look up more of {path}")
            found += _entries(page, path)
        return found

    def _cluster(self, cluster_id: str) -> ClusterFacts:
        try:
            resource = parse_id(cluster_id, azure.MANAGED_CLUSTER)
            found = self._resource(resource, azure.MANAGED_CLUSTER_API)
            identity_type = _identity_type(found)
        except OperationError as error:
            return ClusterFacts(presence=presence_of(error), detail=error.sentence(), id=cluster_id)
        properties = found.child("properties")
        pools = list(properties.children("agentPoolProfiles"))
        return ClusterFacts(
            presence=Presence.FOUND,
            id=cluster_id,
            location=found.text("location"),
            kubernetes_version=properties.text("currentKubernetesVersion")
            or properties.text("kubernetesVersion"),
            power_state=properties.text("powerState", "code"),
            provisioning_state=properties.text("provisioningState"),
            identity_type=identity_type,
            principal_id=_principal_of(found),
            metrics_enabled=properties.flag("azureMonitorProfile", "metrics", "enabled"),
            node_resource_group=properties.text("nodeResourceGroup"),
            node_resource_group_restriction=properties.text(
                "nodeResourceGroupProfile", "restrictionLevel"
            )
            or "Unrestricted",
            azure_rbac=properties.flag("aadProfile", "enableAzureRBAC"),
            local_accounts_disabled=properties.flag("disableLocalAccounts"),
            private_api_server=properties.flag("apiServerAccessProfile", "enablePrivateCluster"),
            load_balancer_sku=properties.text("networkProfile", "loadBalancerSku"),
            backend_pool_type=properties.text(
                "networkProfile", "loadBalancerProfile", "backendPoolType"
            ),
            sku=found.text("sku", "name"),
            issuer_url=properties.text("oidcIssuerProfile", "issuerURL")
            if properties.flag("oidcIssuerProfile", "enabled")
            else "",
            workload_identity=properties.flag("securityProfile", "workloadIdentity", "enabled"),
            provisions_nodes=properties.text("nodeProvisioningProfile", "mode") == "Auto",
            untainted_pools=tuple(pool.text("name") for pool in pools if _is_untainted(pool)),
            pools=tuple(map(_pool_facts, pools)),
        )

    def _extension(self, extension_id: str) -> ExtensionFacts:
        try:
            found = self._get(extension_id, azure.EXTENSION_API)
        except OperationError as error:
            return ExtensionFacts(presence=presence_of(error))
        properties = found.child("properties")
        return ExtensionFacts(
            presence=Presence.FOUND,
            version=properties.text("version"),
            settings=_texts_of(properties.child("configurationSettings")),
            current_version=properties.text("currentVersion"),
            release_train=properties.text("releaseTrain"),
            auto_upgrade=properties.value("autoUpgradeMinorVersion") is not False,
        )

    def _installed(self, cluster_id: str) -> InstalledExtension:
        """The extension of the agent's type; a cluster has at most one."""
        path = f"{cluster_id}/providers/{azure.EXTENSION}"
        try:
            listed = self._get_all(path, azure.EXTENSION_API)
        except OperationError as error:
            return InstalledExtension(presence=presence_of(error))
        for one in listed:
            properties = one.child("properties")
            if properties.text("extensionType").lower() == agent.EXTENSION_TYPE:
                failed = properties.text("provisioningState") == "Failed"
                message = _why_it_failed(properties) if failed else ""
                wanted = _NAMESPACE_OF_ANOTHER_RELEASE.search(message)
                kept = _NOT_REMOVED.search(message)
                named = wanted or kept
                return InstalledExtension(
                    presence=Presence.FOUND,
                    id=f"{path}/{one.text('name')}",
                    name=one.text("name"),
                    provisioning_state=properties.text("provisioningState"),
                    message=in_short(message),
                    helm_release=named[1] if named else "",
                    not_removed=uuid.uuid4().hex if kept else "",
                )
        return InstalledExtension(presence=Presence.ABSENT)

    def _grafana(self, grafana_id: str) -> GrafanaFacts:
        try:
            resource = parse_id(grafana_id, azure.GRAFANA)
            found = self._resource(resource, azure.GRAFANA_API)
        except OperationError as error:
            return GrafanaFacts(presence=presence_of(error), detail=error.sentence(), id=grafana_id)
        properties = found.child("properties")
        return GrafanaFacts(
            presence=Presence.FOUND,
            id=grafana_id,
            location=found.text("location"),
            endpoint=properties.text("endpoint"),
            sku=found.text("sku", "name"),
            major_version=properties.text("grafanaMajorVersion")
            or properties.text("grafanaVersion").split(".")[0],
            public_network_access=properties.text("publicNetworkAccess") or "Enabled",
            principal_id=_principal_of(found),
            provisioning_state=properties.text("provisioningState"),
        )

    def _on_grafana(self, endpoint: str) -> OnGrafana:
        """What the stack's objects would meet there; nothing where the caller cannot look."""
        wanted, workspace = self._request.on_grafana, self._request.grafana_id or ""
        if wanted is None:
            return OnGrafana()
        from operations.grafana import Grafana
        from operations.on_grafana import look

        try:
            grafana = Grafana(self._session, endpoint, workspace)
            return self._session.clock.look(lambda: look(wanted, grafana), "Grafana")
        except OperationError:
            return OnGrafana()

    def _pyroscope(self, grafana: GrafanaFacts) -> PyroscopeFacts:
        """The server that is there already, if the stack uses one."""
        request = self._request
        if request.pyroscope is None:
            return PyroscopeFacts()
        from operations.existing_pyroscope import look
        from operations.grafana import Grafana

        own, variable = request.own_grafana, None
        endpoint = grafana.endpoint
        if own is not None:
            endpoint, variable = own.url, own.token_variable
        try:
            there = (
                Grafana(self._session, endpoint, request.grafana_id or "", token_variable=variable)
                if endpoint
                else None
            )
        except OperationError:
            there = None
        return look(request.pyroscope, there)

    def _start_looking_at_ones_own(self, grafana: GrafanaFacts) -> Callable[[], dict[str, object]]:
        """Begin to look at a server and a Grafana of one's own; the fields that they answer."""
        wanted, objects = self._request.own_grafana, self._request.on_grafana
        server = self._pool.submit(self._pyroscope, grafana)
        if wanted is None:
            return lambda: {"pyroscope": server.result()}
        from operations.own_grafana import look

        found = self._pool.submit(look, wanted, objects, self._session)

        def answer() -> dict[str, object]:
            facts, on_grafana = found.result()
            return {
                "pyroscope": server.result(),
                "own_grafana": facts,
                "on_grafana": on_grafana,
            }

        return answer

    def _inside(self, cluster_id: str) -> InsideFacts:
        from operations.inside import look_at_deployed, look_inside

        request = self._request
        deployed = InsideFacts(presence=Presence.NOT_ASKED)
        if request.look_at_release:
            kept = request.kept_namespace
            deployed = look_at_deployed(self._session, cluster_id, kept, admin=request.admin)
        if not request.look_inside:
            return deployed
        inside = look_inside(self._session, cluster_id, request.stack_mark, admin=request.admin)
        seen = {name: getattr(deployed, name) for name in ("drifted", "drift_problem", "unkept")}
        return inside.model_copy(update=seen)

    def _endpoints(self, grafana_id: str) -> tuple[EndpointFacts, ...]:
        try:
            listed = self._get_all(f"{grafana_id}/{azure.MANAGED_ENDPOINTS}", azure.GRAFANA_API)
        except OperationError:
            return ()
        return tuple(
            EndpointFacts(
                id=azure.managed_endpoint_id(grafana_id, one.text("name")),
                name=one.text("name"),
                private_link_id=one.text("properties", "privateLinkResourceId"),
                request_message=one.text("properties", "requestMessage"),
                provisioning_state=one.text("properties", "provisioningState"),
            )
            for one in listed
        )

    def _workspace(self, workspace_id: str) -> WorkspaceFacts:
        try:
            resource = parse_id(workspace_id, azure.MONITOR_WORKSPACE)
            found = self._resource(resource, azure.MONITOR_WORKSPACE_API)
        except OperationError as error:
            return WorkspaceFacts(
                presence=presence_of(error), detail=error.sentence(), id=workspace_id
            )
        return WorkspaceFacts(
            presence=Presence.FOUND,
            id=workspace_id,
            location=found.text("location"),
            query_endpoint=found.text("properties", "metrics", "prometheusQueryEndpoint"),
        )

    def action_group(self, action_group_id: str) -> ActionGroupFacts:
        """Whether an action group is there, and tells anybody."""
        try:
            resource = parse_id(action_group_id, azure.ACTION_GROUP)
            found = self._get(resource.text, azure.ACTION_GROUP_API)
        except OperationError as error:
            return ActionGroupFacts(
                presence=presence_of(error), detail=error.sentence(), id=action_group_id
            )
        return ActionGroupFacts(
            presence=Presence.FOUND,
            id=action_group_id,
            enabled=found.flag("properties", "enabled"),
        )

    def _other_rules(self, cluster_id: str) -> tuple[str, ...]:
        """Rules of others that forward the cluster's metrics; those not readable do not count."""
        own = (self._request.collection_rule_id or "").lower()
        try:
            associations = self._get_all(
                f"{cluster_id}/providers/{azure.DATA_COLLECTION_RULE_ASSOCIATION}",
                azure.DATA_COLLECTION_API,
            )
        except OperationError:
            return ()
        rules = (one.text("properties", "dataCollectionRuleId") for one in associations)
        return tuple(
            rule for rule in rules if rule and rule.lower() != own and self._forwards(rule)
        )

    def _access_endpoint(self, cluster_id: str) -> str:
        """The endpoint that the cluster is associated with; empty where none can be read."""
        name = f"{azure.DATA_COLLECTION_RULE_ASSOCIATION}/{azure.ENDPOINT_ASSOCIATION}"
        try:
            found = self._get(f"{cluster_id}/providers/{name}", azure.DATA_COLLECTION_API)
        except OperationError:
            return ""
        return found.text("properties", "dataCollectionEndpointId")

    def _forwards(self, rule_id: str) -> bool:
        """Whether the rule's destinations include the workspace."""
        workspace = (self._request.workspace_id or "").lower()
        try:
            rule = self._get(rule_id, azure.DATA_COLLECTION_API)
        except OperationError:
            return False
        accounts = rule.child("properties").child("destinations").children("monitoringAccounts")
        return any(one.text("accountResourceId").lower() == workspace for one in accounts)

    def _group(self, name: str) -> tuple[Presence, str]:
        try:
            found = self._get(
                self._under_subscription(f"/resourceGroups/{name}"), azure.RESOURCE_GROUP_API
            )
        except OperationError as error:
            return presence_of(error), ""
        return Presence.FOUND, found.text("location")

    def _is_unregistered(self, namespace: str) -> bool:
        """Whether the provider is known not to be registered."""
        try:
            found = self._get(
                self._under_subscription(f"/providers/{namespace}"), azure.RESOURCE_PROVIDER_API
            )
        except OperationError:
            return False
        # ``Registering`` ends by itself, and its resources can be made meanwhile.
        return found.text("registrationState") in ("NotRegistered", "Unregistered")

    def _may_admin(self, roles: tuple[str, ...] | None, grafana: GrafanaFacts) -> bool | None:
        """Whether the caller is an administrator of Grafana: by a role, or by what Grafana says.

        A role through a group of groups, or one activated a moment ago, may not be listed yet.
        """
        held = self._holds(roles, azure.Role.GRAFANA_ADMIN)
        if held is False and self._may_activate(azure.Role.GRAFANA_ADMIN, grafana.id):
            held = None
        if held or not grafana.endpoint:
            return held
        from operations.grafana import Grafana

        try:
            organisations = Grafana(self._session, grafana.endpoint).get_list(
                "/api/user/orgs", "ask Grafana for your role", ""
            )
        except OperationError as error:
            return held if error.kind is ExitCode.FORBIDDEN else None
        roles_there = {one.text("role") for one in organisations}
        return True if "Admin" in roles_there else held

    def _holds(self, roles: tuple[str, ...] | None, role: azure.Role) -> bool | None:
        """Whether ``role``, or one that allows the same, is among ``roles``; None: not knowable."""
        if roles is None or role in roles:
            return None if roles is None else True
        definitions = [self._start(self._definition, one) for one in roles]
        found = [_result(one, None) for one in definitions]
        permissions = itertools.chain.from_iterable(one for one in found if one is not None)
        if any(permits_data(one, azure.DATA_ACTIONS[role]) for one in permissions):
            return True
        return None if None in found else False

    def _may_activate(self, role: azure.Role, scope: str) -> bool:
        """Whether ``role``, or one that allows the same, waits to be activated by the caller."""
        action = azure.DATA_ACTIONS[role]
        return any(permits_data(one, action) for one in self._eligible(scope))

    def _definition(self, role: str) -> tuple[Document, ...] | None:
        """What the role allows; None where its definition cannot be read."""
        path = self._under_subscription(f"/providers/{azure.ROLE_DEFINITION}/{role}")
        try:
            found = self._get(path, azure.AUTHORIZATION_API)
        except OperationError:
            return None
        return tuple(found.child("properties").children("permissions"))

    def _roles(self, scope: str, principal: str) -> tuple[str, ...] | None:
        """Role definition GUIDs that ``principal`` holds at ``scope`` or above; None: unreadable.

        Through groups too: that is what ``assignedTo`` asks for.
        """
        try:
            assignments = self._get_all(
                f"{scope}/providers/{azure.ROLE_ASSIGNMENT}",
                azure.AUTHORIZATION_API,
                filter=f"atScope() and assignedTo('{principal}')",
            )
        except OperationError:
            return None
        return tuple(
            sorted(
                {
                    azure.name_of(one.text("properties", "roleDefinitionId")).lower()
                    for one in assignments
                }
            )
        )

    def _link_facts(self, cluster: ClusterFacts) -> Callable[[], dict[str, object]]:
        """Begin the lookups around the private link; the fields of a survey that they answer."""
        request = self._request
        name, group = request.private_link_name, request.private_link_group
        group = group or cluster.node_resource_group
        # The cloud controller makes it in the cluster's own subscription.
        own = azure.subscription_of(request.cluster_id or "") or self._subscription
        link_id = azure.private_link_service_id(own, group, name or "")
        endpoint_id = azure.managed_endpoint_id(
            request.grafana_id or "", request.private_endpoint_name or ""
        )
        allowed = partial(
            link_survey.subnet, self._get, self._get_all, principal=cluster.principal_id
        )
        link = self._start(
            partial(link_survey.private_link, self._get), link_id if name and group else None
        )
        subnet = self._start(allowed, link_survey.subnet_id(cluster, request.private_link_subnet))
        own_group = request.private_link_group if cluster.principal_id else None
        rights = self._start(
            partial(
                link_survey.link_group, self._get, self._get_all, principal=cluster.principal_id
            ),
            azure.group_id(own, own_group) if own_group else None,
        )
        endpoint = self._start(
            partial(link_survey.private_endpoint, self._get),
            endpoint_id if request.grafana_id and request.private_endpoint_name else None,
        )
        return lambda: {
            "private_link": _result(link, PrivateLinkFacts(presence=Presence.NOT_ASKED)),
            "link_group": _result(rights, LinkGroupFacts()),
            "link_subnet": _result(subnet, SubnetFacts(presence=Presence.NOT_ASKED)),
            "private_endpoint": _result(endpoint, Presence.NOT_ASKED),
        }

    def _storage_facts(self) -> Callable[[], dict[str, object]]:
        """Begin to look for Blob Storage; the field of a survey that it answers."""
        request = self._request
        looked_for = partial(
            storage_survey.storage,
            self._get,
            self._refusal_of_name if request.makes_storage else lambda _: "",
            request.storage_container,
        )
        found = self._start(looked_for, request.storage_account_id)
        return lambda: {"storage": _result(found, StorageFacts(presence=Presence.NOT_ASKED))}

    def _refusal_of_name(self, account: azure.ResourceId) -> str:
        """Why a new storage account cannot have this name, which is unique in all of Azure."""
        scope = f"/subscriptions/{account.subscription}"
        found = self._session.azure.ask(
            azure.storage_names_path(account.subscription),
            azure.STORAGE_API,
            f"ask whether the name {account.name} is free",
            role_scope=scope,
            role="Reader",
            body={"name": account.name, "type": azure.STORAGE_ACCOUNT},
        )
        return found.text("message") if found.value("nameAvailable") is False else ""

    def _assigned(self, scope: str) -> tuple[RoleFacts, ...]:
        """The roles that are assigned at ``scope`` itself; none where they cannot be read."""
        if not self._request.list_assignments:
            return ()
        try:
            listed = self._get_all(
                f"{scope}/providers/{azure.ROLE_ASSIGNMENT}",
                azure.AUTHORIZATION_API,
                filter="atScope()",
            )
        except OperationError:
            return ()
        return tuple(
            RoleFacts(
                name=one.text("name").lower(),
                role=azure.name_of(one.text("properties", "roleDefinitionId")).lower(),
                principal_id=one.text("properties", "principalId").lower(),
                description=one.text("properties", "description"),
            )
            for one in listed
            if one.text("properties", "scope").lower() == scope.lower()
        )

    def _may_approve(self, node_resource_group: str) -> bool | None:
        cluster = parse_id(self._request.cluster_id or "", azure.MANAGED_CLUSTER)
        scope = azure.group_id(cluster.subscription, node_resource_group)
        permissions = self._permissions(scope)
        if permissions is None:
            return None
        if any(permits(one, azure.APPROVE_CONNECTION) for one in permissions):
            return True
        activated = self._eligible(scope)
        return None if any(permits(one, azure.APPROVE_CONNECTION) for one in activated) else False

    def _permissions(self, scope: str) -> list[Document] | None:
        """What the caller is allowed at ``scope``; None where it cannot be read."""
        path = f"{scope}/providers/{azure.PERMISSIONS}"
        try:
            return self._get_all(path, azure.AUTHORIZATION_API)
        except OperationError:
            return None

    def right(self, wanted: WantedRight) -> RightFacts:
        """What the caller's permissions say of it."""
        permissions = self._permissions(wanted.scope)
        if permissions is None:
            return RightFacts(key=wanted.key, scope=wanted.scope, known=False)
        refused = not_permitted(wanted, [one for one in permissions if not one.text("condition")])
        lacking = not_permitted(wanted, permissions)
        activated = self._eligible(wanted.scope) if lacking else []
        missing = not_permitted(wanted, [*permissions, *activated])
        return RightFacts(
            key=wanted.key,
            scope=wanted.scope,
            missing=missing,
            conditional=tuple(one for one in refused if one not in lacking),
            eligible=tuple(one for one in lacking if one not in missing),
        )

    def _eligible(self, scope: str) -> list[Document]:
        """What the caller would be allowed at ``scope`` by roles that wait to be activated."""
        return eligible_permissions(self._get_all, self._definition, scope)

    def _skus(self) -> list[Document]:
        """The SKUs of Compute in the cluster's region; none where that is not known."""
        location = self._request.location or self._cluster_location()
        path = f"{self._nodes_subscription}/providers/{azure.COMPUTE_SKUS}"
        if not location:
            return []
        return self._get_all(path, azure.COMPUTE_SKUS_API, filter=f"location eq '{location}'")

    @property
    def _nodes_subscription(self) -> str:
        """The path of the subscription that the nodes are in: the cluster's."""
        subscription = azure.subscription_of(self._request.cluster_id or "") or self._subscription
        return f"/subscriptions/{subscription}"

    def _start_sizing(self, cluster: ClusterFacts) -> Callable[[], dict[str, object]]:
        """Begin to look up how large nodes are; the field of a survey that it answers."""
        asked = self._request.size_nodes
        found = self._pool.submit(self._node_sizes, cluster) if asked else None
        return lambda: {"node_sizes": _result(found, {})}

    def _node_sizes(self, cluster: ClusterFacts) -> dict[str, NodeSize]:
        """How large the nodes are of the cluster's pools, and of those that are to be made."""
        made = self._request.node_vm_size
        wanted = {*(pool.vm_size for pool in cluster.pools), made or ""}
        try:
            return self._vm_sizes.sizes(wanted - {""})
        except OperationError:
            return {}

    def _quota(self, vm_size: str) -> _Quota:
        """The vCPU quota of the VM size's family in the region; empty where it is not readable."""
        try:
            sku = self._vm_sizes.find(vm_size)
            if sku is None:
                return _Quota()
            family = sku.text("family")
            location = self._request.location or self._cluster_location()
            usages = f"{self._nodes_subscription}/providers/{azure.COMPUTE_LOCATIONS}/{location}"
            usage = next(
                one
                for one in self._get_all(f"{usages}/usages", azure.COMPUTE_USAGES_API)
                if one.text("name", "value").lower() == family.lower()
            )
        except (OperationError, StopIteration):
            return _Quota()
        cores = capability(sku, "vCPUs")
        return _Quota(
            family,
            usage.integer("limit"),
            usage.integer("currentValue"),
            int(cores) if cores.isdecimal() else None,
        )

    def _cluster_location(self) -> str:
        cluster_id = self._request.cluster_id
        if not cluster_id:
            return ""
        try:
            return self._get(cluster_id, azure.MANAGED_CLUSTER_API).text("location")
        except OperationError:
            return ""

    def _under_subscription(self, path: str) -> str:
        return f"/subscriptions/{self._subscription}{path}"


def _entries(page: Document, path: str) -> list[Document]:
    """A page's entries; an answer without a list is no page, and not an empty one."""
    if not is_list(page.value("value")):
        raise not_understood(f"look up {path}", "the answer holds no list")
    return list(page.children("value"))


def _result(future: "Future[T] | None", default: T) -> T:
    return default if future is None else future.result()


def _with_roles(
    grafana: GrafanaFacts, roles: tuple[str, ...] | None, may_admin: bool | None
) -> GrafanaFacts:
    """``grafana`` with what the caller holds there, if that is known, and may do."""
    return grafana.model_copy(
        update={
            "caller_roles": roles or (),
            "roles_known": roles is not None,
            "caller_may_admin": may_admin,
        }
    )


def _identity_type(cluster: Document) -> str:
    """Empty for a cluster with a service principal, which then names it."""
    kind = cluster.text("identity", "type")
    if not kind and not cluster.text("properties", "servicePrincipalProfile", "clientId"):
        why = "the answer has neither an identity nor a service principal"
        raise not_understood(f"look up {cluster.text('name')}", why)
    return kind


def _principal_of(resource: Document) -> str:
    """The resource's own identity, or the first of those assigned to it."""
    identity = resource.child("identity")
    assigned = identity.child("userAssignedIdentities")
    principals = (assigned.text(key, "principalId") for key in assigned.fields)
    return identity.text("principalId") or next((one for one in principals if one), "")


def _why_it_failed(extension: Document) -> str:
    """The service's words in the properties of a failed extension."""
    said = extension.text("errorInfo", "message")
    statuses = (one.text("message") for one in extension.children("statuses"))
    return " ".join((said or next((one for one in statuses if one), "")).split())


def _pool_facts(pool: Document) -> PoolFacts:
    scaled = pool.flag("enableAutoScaling")
    return PoolFacts(
        name=pool.text("name"),
        mode=pool.text("mode"),
        count=pool.integer("count") or 0,
        min_count=pool.integer("minCount") if scaled else None,
        max_count=pool.integer("maxCount") if scaled else None,
        subnet_id=pool.text("vnetSubnetID"),
        managed_gpu=pool.text("gpuProfile", "nvidia", "managementMode") == "Managed",
        vm_size=pool.text("vmSize"),
        os_sku=pool.text("osSKU"),
        mig_profile=pool.text("gpuInstanceProfile"),
        spot=pool.text("scaleSetPriority") == "Spot",
        taints=pool.texts("nodeTaints"),
        labels=_texts_of(pool.child("nodeLabels")),
        tags=_texts_of(pool.child("tags")),
        provisioning_state=pool.text("provisioningState"),
    )


def _texts_of(mapping: Document) -> dict[str, str]:
    return {key: as_text(value) for key, value in mapping.fields.items()}


def _is_untainted(pool: Document) -> bool:
    """Whether a pod without tolerations runs there. The taint of a system pool counts too."""
    taints = pool.texts("nodeTaints")
    return (pool.text("osType") or "Linux") == "Linux" and not any(
        taint.endswith((":NoSchedule", ":NoExecute")) for taint in taints
    )


def _assertion_seconds() -> int | None:
    ends = fixed_assertion_ends(os.environ)
    return None if ends is None else int(ends - time.time())


def _caller_of(token: str) -> _Caller:
    """Who the token says the caller is; nothing where it is opaque.

    The claims are not verified: they only explain errors and pick role assignments to read.
    """
    claims = claims_of(token)
    kind = claims.text("idtyp")
    if kind not in ("app", "user"):
        kind = "user" if claims.text("scp") or claims.text("upn") else "app"
    if not claims.text("oid"):
        return _Caller()
    return _Caller(
        claims.text("oid"),
        "servicePrincipal" if kind == "app" else "user",
        claims.text("tid"),
    )
