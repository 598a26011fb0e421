"""What an update that was interrupted has left, where only a person can remove it."""

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.lines import in_cluster
from infra.deployed import Deployed, Own


def interrupted_install(deployed: Deployed, cluster_id: str) -> str:
    """What to do if Helm kept a record of an install that the stack's state does not have.

    Empty where the state shows no such install: a release is made right after its guard.
    """
    if Own.RELEASE_GUARD not in deployed or Own.RELEASE in deployed:
        return ""
    remove = in_cluster(
        cluster_id,
        *("kubectl", "delete", "secret", "--namespace", NAMESPACE),
        *("--selector", f"owner=helm,name={PYROSCOPE_SERVICE}"),
    )
    return (
        "An earlier update ended before Helm had installed Pyroscope. If this one fails with "
        "`cannot re-use a name that is still in use`, Helm keeps a record of that install; remove "
        f"it and run the update again, which takes over what is there: {remove}"
    )
