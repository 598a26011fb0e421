"""A small client of one API server: read, create, patch, delete and watch objects as JSON.

Only what the mirror needs. Objects stay plain JSON: what they mean is the controllers'.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Self

import aiohttp

from simulator.values import JsonObject, as_integer, as_object, as_objects, as_text

MERGE_PATCH = "application/merge-patch+json"
RECONNECT_SECONDS = 0.2


@dataclass(frozen=True)
class Kind:
    """A kind of object and where it is served."""

    api_version: str
    name: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of the collection, of an object, or of an object's subresource."""
        group = "apis" if "/" in self.api_version else "api"
        parts = [group, self.api_version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        return "/" + "/".join([*parts, *filter(None, [name, subresource])])


class KubernetesError(Exception):
    """The API server refused a request; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Listed:
    """All objects of a kind: what was known before and is not among them is gone."""

    kind: Kind
    manifests: list[JsonObject]


@dataclass(frozen=True)
class Change:
    """An object that a watch reports: as it is now, or as it was when it went."""

    kind: Kind
    manifest: JsonObject
    deleted: bool


class KubernetesClient:
    """Requests to one API server with one bearer token."""

    def __init__(self, url: str, token: str, tls: ssl.SSLContext) -> None:
        self._url = url
        self._token = token
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self._url,
            headers={"Authorization": f"Bearer {self._token}"},
            # Every watch holds a connection; the rest is for requests.
            connector=aiohttp.TCPConnector(ssl=self._tls, limit=0),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str) -> JsonObject | None:
        """The object or list at `path`; None where there is none."""
        try:
            return await self._send("GET", path)
        except KubernetesError as error:
            if error.status == 404:
                return None
            raise

    async def create(self, path: str, manifest: JsonObject) -> JsonObject:
        """Add an object to the collection at `path`."""
        return await self._send("POST", path, manifest)

    async def replace(self, path: str, manifest: JsonObject) -> JsonObject:
        """Put an object, or a subresource such as a namespace's `finalize`, in place."""
        return await self._send("PUT", path, manifest)

    async def patch(self, path: str, patch: JsonObject) -> JsonObject:
        """Merge `patch` into the object at `path` (JSON merge patch)."""
        return await self._send("PATCH", path, patch, MERGE_PATCH)

    async def delete(self, path: str) -> None:
        """Delete the object at `path`, and at once what it owns; no error if it is gone."""
        options: JsonObject = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "gracePeriodSeconds": 0,
        }
        try:
            await self._send("DELETE", path, options)
        except KubernetesError as error:
            if error.status != 404:
                raise

    async def watch(self, kind: Kind) -> AsyncGenerator[Listed | Change]:
        """All objects of a kind, then every change; goes on when the API server restarts."""
        while True:
            try:
                listed = await self._send("GET", kind.path())
                manifests = [_typed(kind, item) for item in as_objects(listed.get("items"))]
                yield Listed(kind, manifests)
                version = as_text(as_object(listed.get("metadata")).get("resourceVersion"))
                async for change in self._follow(kind, version):
                    yield change
            except (aiohttp.ClientError, TimeoutError, KubernetesError, ValueError):
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _follow(self, kind: Kind, version: str) -> AsyncGenerator[Change]:
        query = f"?watch=1&resourceVersion={version}&allowWatchBookmarks=true"
        # A watch has no end, and its lines no useful bound: a Helm release is one line of 100 kB.
        timeout = aiohttp.ClientTimeout(total=None, connect=10)
        async with self._opened().get(kind.path() + query, timeout=timeout) as answer:
            if answer.status != 200:
                raise KubernetesError(answer.status, await answer.text())
            buffer = b""
            async for chunk in answer.content.iter_any():
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    event = as_object(json.loads(line))
                    manifest = as_object(event.get("object"))
                    match event.get("type"):
                        case "ADDED" | "MODIFIED":
                            yield Change(kind, _typed(kind, manifest), deleted=False)
                        case "DELETED":
                            yield Change(kind, _typed(kind, manifest), deleted=True)
                        case "ERROR":
                            # The version is too old; the caller lists anew.
                            raise KubernetesError(
                                as_integer(manifest.get("code")), as_text(manifest.get("message"))
                            )
                        case _:
                            pass

    async def _send(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        content_type: str = "application/json",
    ) -> JsonObject:
        async with self._opened().request(
            method,
            path,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type},
            timeout=aiohttp.ClientTimeout(total=30),
        ) as answer:
            text = await answer.text()
            content: JsonObject = {}
            # An API server that is starting or stopping answers in plain text.
            with contextlib.suppress(ValueError):
                content = as_object(json.loads(text))
            if answer.status >= 400:
                raise KubernetesError(answer.status, as_text(content.get("message"), text))
            return content

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the client is used outside its context")
        return self._session


def _typed(kind: Kind, manifest: JsonObject) -> JsonObject:
    """The manifest with its type, which the items of a list do not tell."""
    return {"apiVersion": kind.api_version, "kind": kind.name, **manifest}
