"""Starting the program, in the order in which a person waits the least.

The operations take as long to import Azure's SDK and to sign in as the program takes to import
Pulumi's: they start first. What exists is looked up while the components are imported.
"""

import gc
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from infra.operations_process import OperationsProcess

if TYPE_CHECKING:
    from infra.lookups import Operations


def start() -> None:
    """Deploy, with the operations beside."""
    operations = OperationsProcess()
    # What is imported stays until the end, and it is tens of thousands of objects: looking through
    # them for garbage takes a tenth of a preview.
    gc.disable()
    deploy(operations)


def deploy(operations: "Operations") -> None:
    """Register the stack's resources and exports; ``operations`` look up what exists.

    Raises:
        pulumi.RunError: in one message, why not.
    """
    import pulumi

    from infra.faults import ConfigurationError
    from infra.loading import load_stack

    # Nothing that is still imported there is used before it has ended.
    components = Thread(target=import_module, args=["infra.program"])
    components.start()
    try:
        stack = load_stack(operations)
        components.join()
        from infra.cures import say_what_helps
        from infra.program import register

        say_what_helps()
        register(stack, operations)
    except ConfigurationError as error:
        # Shown without a traceback: it is a message to the operator.
        raise pulumi.RunError(str(error)) from None
