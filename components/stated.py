"""Values that Azure states of what it has made, and that must not be passed on empty."""

from collections.abc import Callable

import pulumi


def stated(name: str) -> Callable[[object], str]:
    """What gets the field ``name`` of an answer.

    It raises RunError, which is shown without a traceback, where the field is missing or empty.
    """

    def get(answer: object) -> str:
        value = getattr(answer, name, None)
        if isinstance(value, str) and value:
            return value
        raise pulumi.RunError(
            f"Azure has made a resource and states no {name.replace('_', ' ')} of it, which "
            "others are given.\n  fix: pulumi up --refresh, once it is ready in the Azure portal"
        )

    return get
