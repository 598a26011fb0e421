"""What an update that was interrupted has left, where only a person can remove it."""

import shlex

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from infra.deployed import Deployed, Own


def interrupted_install(deployed: Deployed, cluster_id: str) -> str:
    """What to do if Helm kept a record of an install that the stack's state does not have.

    Empty where the state shows no such install: a release is made right after its guard.
    """
    if Own.RELEASE_GUARD not in deployed or Own.RELEASE in deployed:
        return ""
    _, _, subscription, _, group, *_, name = cluster_id.split("/")
    remove = (
        f"kubectl delete secret --namespace {NAMESPACE} --selector "
        f"owner=helm,name={PYROSCOPE_SERVICE}"
    )
    line = (
        f"az aks command invoke --resource-group {shlex.quote(group)} --name {shlex.quote(name)} "
        f"--subscription {subscription} --command {shlex.quote(remove)}"
    )
    return (
        "An earlier update ended before Helm had installed Pyroscope. If this one fails with "
        "`cannot re-use a name that is still in use`, Helm keeps a record of that install; remove "
        f"it and run the update again, which takes over what is there: {line}"
    )
