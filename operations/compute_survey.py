"""VM sizes as Azure lists them for a region, for the survey: asked for once."""

from collections.abc import Callable, Iterable
from threading import Lock

from contract.json import Document
from contract.messages.survey import NodeSize

_VIRTUAL_MACHINES = "virtualmachines"


class VmSizes:
    """The VM sizes of a region; ``listed`` asks for its SKUs and may raise an OperationError."""

    def __init__(self, listed: Callable[[], list[Document]]) -> None:
        self._listed = listed
        self._lock = Lock()
        self._found: dict[str, Document] | None = None

    def find(self, name: str) -> Document | None:
        """The SKU of this VM size; None where the region has none.

        Raises:
            OperationError: Azure does not list them.
        """
        with self._lock:
            if self._found is None:
                self._found = {
                    one.text("name").lower(): one
                    for one in self._listed()
                    if one.text("resourceType").lower() == _VIRTUAL_MACHINES
                }
            return self._found.get(name.lower())

    def sizes(self, names: Iterable[str]) -> dict[str, NodeSize]:
        """How large these VM sizes are, by their names in lower case; without unknown ones.

        Raises:
            OperationError: Azure does not list them.
        """
        found = {name.lower(): self.find(name) for name in names}
        read = {name: _size(sku) for name, sku in found.items() if sku is not None}
        return {name: size for name, size in read.items() if size is not None}


def capability(sku: Document, name: str) -> str:
    """What a SKU says of one of its capabilities; empty where it says nothing."""
    listed = sku.children("capabilities")
    return next((one.text("value") for one in listed if one.text("name") == name), "")


def _size(sku: Document) -> NodeSize | None:
    try:
        return NodeSize(
            cores=int(capability(sku, "vCPUs")), memory_gib=float(capability(sku, "MemoryGB"))
        )
    except ValueError:
        return None
