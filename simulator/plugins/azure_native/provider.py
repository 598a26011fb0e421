"""The rules of azure-native: naming, locations, what replaces, create, refresh, partial failure."""

import os
import secrets
import uuid

from typing_extensions import override

from simulator.plugins.azure_native import identity, shapes
from simulator.plugins.azure_native.arm import ArmError, Client, UnfinishedError
from simulator.plugins.azure_native.differences import compare
from simulator.plugins.azure_native.functions import CLIENT_CONFIG, FUNCTIONS, Action
from simulator.plugins.azure_native.types import (
    RESOURCE_GROUP,
    ROLE_ASSIGNMENT,
    TYPES,
    ResourceType,
)
from simulator.plugins.properties import UNKNOWN, Object, is_list
from simulator.plugins.provider import (
    Checked,
    Difference,
    PartialError,
    Provider,
    ProviderError,
    Severity,
    Urn,
    run,
)
from simulator.values import as_object, as_text, is_object

DEFAULT_TIMEOUT_SECONDS = 2 * 60 * 60.0
STABLE_OUTPUTS = ("name", "location")
"""Outputs that no update changes, so a preview may show them."""


class AzureNativeProvider(Provider):
    """Keeps ARM resources as the program wants them."""

    version = "3.29.0"

    def __init__(self) -> None:
        super().__init__()
        self._arguments: Object = {}
        self._connected: Client | None = None
        self._locations: dict[str, str] = {}

    @property
    def _client(self) -> Client:
        if self._connected is None:
            subscription = self._configured_subscription
            self._connected = Client(self.cancelled, lambda: identity.token(subscription))
        return self._connected

    @property
    def _configured_subscription(self) -> str:
        configured = as_text(self._arguments.get("subscriptionId"))
        return configured or os.environ.get("ARM_SUBSCRIPTION_ID", "")

    @property
    def _subscription_id(self) -> str:
        found = self._configured_subscription or identity.subscription_of_the_cli()
        if not found:
            raise ProviderError(
                "no subscription: set azure-native:subscriptionId in the stack's configuration "
                "or ARM_SUBSCRIPTION_ID in the environment"
            )
        return found

    @override
    def configure(self, arguments: Object) -> None:
        self._arguments = arguments

    @override
    def invoke(self, token: str, arguments: Object, preview: bool) -> Object:
        if token == CLIENT_CONFIG:
            claims = self._client.claims()
            return {
                "clientId": as_text(claims.get("appid")),
                "objectId": as_text(claims.get("oid")),
                "subscriptionId": self._subscription_id,
                "tenantId": as_text(claims.get("tid")),
            }
        function = FUNCTIONS.get(token)
        if function is None:
            raise ProviderError(f"the simulator's azure-native does not know the function {token}")
        kind = function.type
        optional = dict(function.query) if isinstance(function, Action) else {}
        unknown = arguments.keys() - set(kind.path_inputs) - optional.keys()
        if unknown:
            raise ProviderError(f"{token}: unknown arguments {', '.join(sorted(unknown))}")
        missing = set(kind.path_inputs) - arguments.keys()
        if missing:
            raise ProviderError(f"{token}: missing arguments {', '.join(sorted(missing))}")
        resource_id = kind.id_of(arguments, self._subscription_id)
        if isinstance(function, Action):
            query = {
                optional[name]: as_text(value)
                for name, value in arguments.items()
                if name in optional
            }
            return self._client.post(f"{resource_id}/{function.action}", kind.api_version, query)
        response = self._client.get(resource_id, kind.api_version)
        return {**kind.outputs(response), "id": as_text(response.get("id")) or resource_id}

    # --- resources ----------------------------------------------------------------------------

    @override
    def check(self, urn: Urn, olds: Object, news: Object, seed: bytes) -> Checked:
        kind = _type(urn)
        inputs = dict(news)
        if kind.name not in inputs:
            inputs[kind.name] = olds.get(kind.name) or _made_up_name(kind, urn, seed)
        if kind.located and "location" not in inputs:
            inputs["location"] = self._default_location(kind, olds, inputs)
        failures = [
            (name, f"the simulator's azure-native knows no input {name!r} of {kind.pulumi_type}")
            for name in sorted(inputs.keys() - kind.inputs)
        ]
        failures += [
            (name, f"missing required property {name!r}")
            for name in sorted((set(kind.path_inputs) | kind.required) - inputs.keys())
        ]
        failures += [("", fault) for fault in shapes.faults(kind.pulumi_type, inputs)]
        return Checked(inputs, failures)

    @override
    def diff(
        self, urn: Urn, resource_id: str, olds: Object, old_inputs: Object, news: Object
    ) -> Difference:
        kind = _type(urn)
        before = dict(old_inputs)
        if _same_location(before.get("location"), news.get("location")):
            before["location"] = news["location"]
        changes = compare(before, news, kind.replaces)
        replaced = any(change.replaces for change in changes.values())
        # Names are unique in Azure, so the old one has to go first.
        return Difference(changes, delete_before_replace=replaced)

    @override
    def create(
        self, urn: Urn, inputs: Object, *, timeout: float, preview: bool
    ) -> tuple[str, Object]:
        kind = _type(urn)
        if preview:
            return "", _preview(kind, inputs)
        resource_id = kind.id_of(inputs, self._subscription_id)
        if not kind.is_always_there and self._client.exists(resource_id, kind.api_version):
            raise ProviderError(f"cannot create already existing resource '{resource_id}'")
        return self._put("Create", urn, kind, resource_id, inputs, timeout)

    @override
    def update(
        self,
        urn: Urn,
        resource_id: str,
        olds: Object,
        old_inputs: Object,
        news: Object,
        *,
        timeout: float,
        preview: bool,
    ) -> Object:
        kind = _type(urn)
        if preview:
            stable = {name: olds[name] for name in STABLE_OUTPUTS if name in olds}
            return {**_preview(kind, news), **stable}
        wanted = kind.id_of(news, self._subscription_of(resource_id))
        _, outputs = self._put("Update", urn, kind, wanted, news, timeout)
        return outputs

    @override
    def delete(
        self, urn: Urn, resource_id: str, state: Object, inputs: Object, *, timeout: float
    ) -> None:
        kind = _type(urn)
        if kind.is_always_there:
            self._client.put(resource_id, kind.api_version, {}, long=False, timeout=timeout)
            return
        self._client.delete(
            resource_id,
            kind.api_version,
            long=kind.delete_is_long,
            timeout=timeout or DEFAULT_TIMEOUT_SECONDS,
        )

    @override
    def read(
        self, urn: Urn, resource_id: str, inputs: Object | None, state: Object
    ) -> tuple[str, Object, Object]:
        kind = _type(urn)
        named: Object = {}
        if inputs is None:
            try:
                named = kind.path_inputs_of(resource_id)
            except ValueError as error:
                raise ProviderError(str(error)) from error
        try:
            response = self._client.get(resource_id, kind.api_version)
        except ArmError as error:
            if error.is_gone:
                return "", {}, {}
            raise
        outputs = kind.outputs(response)
        if inputs is None:
            return resource_id, {**kind.projected(outputs), **named}, outputs
        live = _followed(inputs, kind.projected(state), kind.projected(outputs))
        return resource_id, as_object(live), outputs

    def _put(
        self,
        verb: str,
        urn: Urn,
        kind: ResourceType,
        resource_id: str,
        inputs: Object,
        timeout: float,
    ) -> tuple[str, Object]:
        try:
            response = self._client.put(
                resource_id,
                kind.api_version,
                kind.body(inputs),
                long=kind.put_is_long,
                timeout=timeout or DEFAULT_TIMEOUT_SECONDS,
            )
        except UnfinishedError as failure:
            raise self._partial(kind, resource_id, inputs, failure) from failure
        made = as_text(response.get("id")) or resource_id
        try:
            response = self._client.get(made, kind.api_version)
        except ProviderError:
            # The answer to the request itself has to do (``readAfterWrite`` of provider.go).
            self.log(
                Severity.WARNING,
                f"Failed to read resource after {verb}. Please report this issue.\nVerbose logs "
                "contain more information, see "
                "https://www.pulumi.com/docs/support/troubleshooting/#verbose-logging.",
                urn.text,
            )
        return made, kind.outputs(response)

    def _partial(
        self, kind: ResourceType, resource_id: str, inputs: Object, failure: UnfinishedError
    ) -> PartialError:
        """The failure with the resource as it is now, so that it stays in state."""
        message = str(failure)
        outputs: Object = {}
        try:
            if not failure.is_over:
                outputs = kind.outputs(self._client.get(resource_id, kind.api_version))
        except ProviderError as error:
            message = f"resource created but read failed {error}: {message}"
        return PartialError(message, resource_id=resource_id, properties=outputs, inputs=inputs)

    def _subscription_of(self, resource_id: str) -> str:
        parts = resource_id.split("/")
        return parts[2] if len(parts) > 2 and parts[1] == "subscriptions" else self._subscription_id

    def _default_location(self, kind: ResourceType, olds: Object, inputs: Object) -> object:
        """The location it has, else the configured one, else that of its resource group."""
        configured = olds.get("location") or self._arguments.get("location")
        if configured:
            return configured
        group = inputs.get("resourceGroupName")
        if kind is RESOURCE_GROUP:
            raise ProviderError(
                "missing required property 'location'. Either set it explicitly or configure it "
                "with 'pulumi config set azure-native:location <value>'."
            )
        if not isinstance(group, str):
            return UNKNOWN
        if group not in self._locations:
            resource_id = RESOURCE_GROUP.id_of({"resourceGroupName": group}, self._subscription_id)
            found = self._client.get(resource_id, RESOURCE_GROUP.api_version)
            self._locations[group] = as_text(found.get("location"))
        return self._locations[group]


def _type(urn: Urn) -> ResourceType:
    found = TYPES.get(urn.type)
    if found is None:
        raise ProviderError(f"the simulator's azure-native does not know the type {urn.type}")
    return found


def _made_up_name(kind: ResourceType, urn: Urn, seed: bytes) -> str:
    if kind is ROLE_ASSIGNMENT:
        return str(
            uuid.UUID(bytes=(seed or secrets.token_bytes(16))[:16].ljust(16, b"\0"), version=4)
        )
    if not kind.random_name:
        return urn.name
    return urn.name + (seed.hex()[:8] if seed else secrets.token_hex(4))


def _preview(kind: ResourceType, inputs: Object) -> Object:
    """The inputs, with what only the service knows marked unknown inside their objects."""
    outputs = {name: value for name, value in inputs.items() if name in kind.top | kind.properties}
    for name, fields in kind.preview_unknown.items():
        computed = dict.fromkeys(fields, UNKNOWN)
        outputs[name] = {**as_object(outputs.get(name)), **computed}
    return outputs


def _same_location(old: object, new: object) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    return old.replace(" ", "").lower() == new.replace(" ", "").lower()


def _followed(inputs: object, before: object, now: object) -> object:
    """``inputs`` changed only where the live value left the one last seen.

    Most of what Azure answers are defaults that the program never named; to take all of them as
    inputs would show differences on every refresh.
    """
    if before == now:
        return inputs
    if is_object(inputs) and is_object(before) and is_object(now):
        given, seen, live = as_object(inputs), as_object(before), as_object(now)
        merged = {key: value for key, value in given.items() if key not in seen or key in live}
        for key, value in live.items():
            if key not in seen:
                merged[key] = value
            elif seen[key] != value:
                merged[key] = _followed(given[key], seen[key], value) if key in given else value
        return merged
    if is_list(inputs) and is_list(before) and is_list(now):
        given_items, seen_items = inputs, before
        return [
            _followed(given_items[index], seen_items[index], value)
            if index < len(given_items) and index < len(seen_items)
            else value
            for index, value in enumerate(now)
        ]
    return now


def main() -> None:
    """Serve the provider; the engine starts this."""
    run(AzureNativeProvider())


if __name__ == "__main__":
    main()
