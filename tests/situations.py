"""The traps of the manual procedure and the situations people reported, each with what must happen.

A test that proves one handled carries ``@pytest.mark.handles("<key>")``. From those marks
``python -m tests.situations`` writes docs/maintainers/handled.md; ``--check`` fails where the page
is out of step, a mark names an unknown key, or a situation has no test.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "maintainers" / "handled.md"


@dataclass(frozen=True)
class Situation:
    """Something that goes wrong for people, where it was reported, and the right behaviour."""

    source: str
    what: str
    right: str


TRAPS = {
    "no-pending-connection-still-success": Situation(
        "procedure",
        "a fixed sleep, then the first pending connection: none yet, approves nothing, succeeds",
        "polled with a deadline; exactly one match; says what was seen",
    ),
    "connection-matched-by-prefix": Situation(
        "procedure",
        "a connection is matched by the beginning of a name: `amg` also matches `amg2`",
        "the end of the endpoint's id is compared exactly, and the stack's own request message",
    ),
    "rerun-finds-nothing-pending": Situation(
        "procedure", "a rerun finds nothing pending and fails", "Approved is a success"
    ),
    "address-read-before-refresh": Situation(
        "procedure",
        "the private address is read straight after the refresh: the source becomes http://:4040",
        "polled until approved and addressed; the address is never empty",
    ),
    "unbounded-wait-for-private-link": Situation(
        "procedure",
        "the wait for the Private Link Service has no end",
        "a deadline; 403 distinguished from 404; where to look",
    ),
    "missing-prerequisites": Situation(
        "procedure",
        "registrations, metrics add-on, Grafana tier, roles, rights on the node group are assumed",
        "looked up before the first resource; one message with every fault and its fix",
    ),
    "filesystem-storage-not-writable": Situation(
        "procedure",
        "the filesystem backend writes where the server's user may not",
        "a directory below /data, or no such backend",
    ),
    "prometheus-source-duplicated": Situation(
        "procedure",
        "the Prometheus source has no uid: a rerun makes a second one",
        "a fixed uid; applied, not added",
    ),
    "dashboard-from-a-moving-branch": Situation(
        "procedure",
        "the dashboard comes from a branch, names one profile type, refreshes every 30 s",
        "built here, discovers the type, refresh off",
    ),
    "things-left-behind": Situation(
        "procedure",
        "clean-up leaves endpoint, sources, dashboard, roles and rules",
        "destroy leaves what was there before",
    ),
    "fixed-names-collide": Situation(
        "procedure",
        "a second cluster on the same Grafana collides",
        "default names are derived from the stack; owner marks keep stacks apart",
    ),
    "only-later-allocations-are-seen": Situation(
        "procedure",
        "a server that allocated before the agent came shows an empty graph",
        "the outputs say so",
    ),
}

REPORTS = {
    "management-lock": Situation(
        "AKS 3291, azure-docs 79524",
        "a management lock refuses a change or a deletion half-way",
        "found before the first resource, with the line that takes it away; named where it refuses",
    ),
    "metrics-add-on-off": Situation(
        "azure-aks-docs inspektor-gadget-troubleshoot",
        "Azure Monitor metrics asked for on a cluster without the add-on",
        "an early error that names the add-on and the line that enables it",
    ),
    "provider-not-registered": Situation(
        "azure-docs 75968, 99764; azurerm 22462",
        "a resource provider is not registered",
        "the `az provider register` lines, before the first resource",
    ),
    "principal-not-found": Situation(
        "azurerm 11417, pulumi-azure 142",
        "PrincipalNotFound right after an identity was made",
        "the principal's type is set; a retry succeeds",
    ),
    "service-has-ip-link-absent": Situation(
        "cloud-provider-azure 4838",
        "the Service has an address, the Private Link Service is absent or its group forbidden",
        "a deadline; 403 distinguished from 404",
    ),
    "fixed-sleeps-empty-address": Situation(
        "awesome-aks 2026-07-14", "fixed sleeps, then an empty address", "polls; never http://:4040"
    ),
    "two-grafanas-two-pending": Situation(
        "awesome-aks 2026-07-14",
        "two Grafanas `prof` and `prof2`, both pending",
        "the exact one is approved; more than one match is refused",
    ),
    "approve-approved": Situation(
        "azure-rest-api-specs 30308, azure-cli 21160",
        "approving an approved connection answers 400",
        "a success without a call",
    ),
    "source-name-taken": Situation(
        "grafana 14536, aws accelerator 117",
        "the source's name exists under another uid",
        "ours: updated; another's: refused with uid and owner, unless adopted",
    ),
    "autoscaler-without-count": Situation(
        "pulumi-azure-native 2943", "autoscaling 0 to 1 without a count", "count = min is sent"
    ),
    "pool-name": Situation(
        "AKS 3300",
        "pool named `gpu-enabled`, `GPUPOOL`, or with 13 characters",
        "refused, with the rule",
    ),
    "node-group-locked": Situation(
        "awesome-aks 2026-07-17, AKS 3721",
        "the node resource group is locked (AKS Automatic)",
        "detected before the release, with the ways out",
    ),
    "local-accounts-disabled": Situation(
        "azure-native 2579",
        "local accounts are disabled",
        "user credentials through an exec plugin of our own; admin refused",
    ),
    "annotation-boolean": Situation(
        "istio 50543, temporal helm 157", "a boolean among annotations", "made a string"
    ),
    "incompatible-server": Situation(
        "inspektor-gadget 5538", "Pyroscope 1.20, 2.1.0 or latest", "refused, with the reason"
    ),
    "filesystem-with-replicas": Situation(
        "pyroscope 3372, 5431", "filesystem storage with two replicas", "refused"
    ),
    "link-name": Situation(
        "cloud-provider-azure 4537", "a link's name of 81 or illegal characters", "refused"
    ),
    "proxy-protocol": Situation("azure-docs 64867", "proxy protocol on the link", "refused"),
    "azure-auth-type": Situation(
        "grafana-operator 1396",
        "`azureAuthType` at the top of jsonData",
        "azureCredentials, nested",
    ),
    "started-earlier": Situation(
        "Microsoft's page", "the workload started earlier", "stated in the outputs"
    ),
    "cluster-before-endpoint": Situation(
        "cloud-provider-azure 2125, hypershift 9194",
        "destroy takes the cluster before the endpoint",
        "endpoint, release, link, then the rest",
    ),
    "namespace-before-extension": Situation(
        "AKS 4543", "destroy takes the namespace before the extension", "namespace last"
    ),
    "kubeconfig-rotates": Situation(
        "pulumi-kubernetes 1148", "the kubeconfig's token rotates", "no replacement"
    ),
    "inline-and-separate-pools": Situation(
        "azure-native 2719, 4264",
        "inline and separate pools fight",
        "the cluster's request names the system pool, as it is, and no other",
    ),
    "failed-upgrade-of-the-agent": Situation(
        "extension troubleshooting page",
        "an upgrade of the agent fails; the next update deletes what still runs",
        "it is tried again in place; only an install that never succeeded is deleted",
    ),
    "what-azure-adds-to-the-agent": Situation(
        "extensions REST 2023-05-01",
        "Azure upgrades the agent and adds settings; a refresh brings them in",
        "no change, and nothing of it is lost with the next update",
    ),
    "two-identities": Situation(
        "pulumi-azure-native auth_azidentity.go",
        "a VM or build agent with an identity of its own, and `az login`; two tenants in one CLI",
        "provider and operations both are the CLI's account of the subscription in use",
    ),
    "stale-pools-after-refresh": Situation(
        "azure-native 2719, 1686",
        "a refresh copies all live pools into the cluster's inputs; a later update sends them",
        "no pool goes back, none comes back; what was scaled or upgraded by hand stays",
    ),
    "stale-count": Situation(
        "AKS 1627, azurerm 4256",
        "with the autoscaler on, an ignored count is sent as it was, and refused",
        "its moves are no change; another change sends the present count",
    ),
    "output-kept": Situation(
        "pulumi-command 190, 285",
        "an update keeps the old output; large output",
        "the output is new",
    ),
    "grafana-major": Situation(
        "azurerm 30064, physical-ai-toolchain 1033",
        "Grafana major 11, or 13 to 12 on a live workspace",
        'refused before the first resource; 12 and "12" are the same',
    ),
    "grafana-not-public": Situation(
        "azurerm 23950, ARO-HCP 6512",
        "Grafana's public access is disabled",
        "reported at once, not after minutes of waiting for a role",
    ),
    "numeric-ids-off": Situation(
        "grafana 119930, 117227", "routes with a numeric id are off", "only uid routes are used"
    ),
    "uid-too-long": Situation(
        "grafana 11620, 132220, xpumanager 160",
        "a uid of 41 characters or with a space; a long stack name",
        "refused before; derived uids stay short and distinct",
    ),
    "prometheus-401": Situation(
        "grafana 125043",
        "the Prometheus source answers 401",
        "the signal check prints the source's own message and distinguishes 401 from no data",
    ),
    "auto-approval-visibility": Situation(
        "cloud-provider-azure 1859", "auto-approval without visibility `*`", "refused"
    ),
    "misspelled-annotation": Situation(
        "public manifests",
        "`azure-load-balancer-internal-ipv4`, `azure-pls-ip-adress-count`",
        "refused with the nearest right key",
    ),
    "cluster-stopped": Situation(
        "AML-Kubernetes 42, azure-docs 85161",
        "the cluster is stopped though Succeeded",
        "reported, with the command that starts it",
    ),
    "api-server-unreachable": Situation(
        "pulumi-kubernetes 2374, 1794, 3463",
        "a private API server that cannot be reached from here",
        "named as such at preview",
    ),
    "empty-component-dropped": Situation(
        "pulumi 8721, 7542",
        "dependencies on a component without children are dropped",
        "the order holds in create and destroy",
    ),
    "stale-registry-login": Situation(
        "kargo 777, logging-operator 1522",
        "a stale ghcr.io login: 403 on the public chart",
        "the message says `docker logout ghcr.io`",
    ),
    "secret-in-section": Situation(
        "pulumi 6531, 16383, 16053",
        "a `secure:` value inside a section",
        "refused with the reason; never repeated",
    ),
    "source-deleted-by-hand": Situation(
        "pulumi-command 20, 789",
        "a data source deleted by hand; `up` and `refresh` see nothing",
        "preview shows it, `up` puts it back",
    ),
    "spot-taint": Situation(
        "pulumi-azure-native 959, azurerm 22719",
        "Azure adds a taint and a label to a Spot pool; then max 1 to 2",
        "declared by us: no diff; the update sends no taint change",
    ),
    "extension-inner-error": Situation(
        "azurerm 24547",
        "the extension fails with nested inner errors",
        "the inner reason on one line; a rerun after the fix replaces the failed one",
    ),
    "association-with-both": Situation(
        "azure-cli 28338, bicep 10542",
        "one association with a rule and an endpoint",
        "two associations; the endpoint's alone",
    ),
    "retention-without-bucket": Situation(
        "pyroscope 2671, 4260, nemotron 4553",
        "retention without a bucket; invented keys under structuredConfig",
        "explained and refused",
    ),
}

SITUATIONS = {**TRAPS, **REPORTS}


def proofs() -> dict[str, list[str]]:
    """The tests by situation, read from the marks: `path::test`."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for key in _marks(function):
                    found[key].append(f"{file.relative_to(ROOT).as_posix()}::{function.name}")
    return found


def _marks(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Attribute)
            and decorator.func.attr == "handles"
        ):
            for argument in decorator.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def page(found: dict[str, list[str]]) -> str:
    """The text of docs/maintainers/handled.md."""
    lines = [
        "# What is handled, and the test that proves it",
        "",
        "Generated from the tests' marks by `python -m tests.situations`.",
    ]
    for title, situations in (
        ("Traps of the manual procedure", TRAPS),
        ("Situations people reported", REPORTS),
    ):
        lines += ["", f"## {title}", "", "| situation | reported at | what happens | proved by |"]
        lines.append("|---|---|---|---|")
        for key, situation in situations.items():
            tests = "<br>".join(_link(test) for test in found.get(key, []))
            lines.append(f"| {situation.what} | {situation.source} | {situation.right} | {tests} |")
    return "\n".join(lines) + "\n"


def _link(test: str) -> str:
    file, name = test.split("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../../{file})"


def faults(found: dict[str, list[str]]) -> list[str]:
    """What is wrong: unknown keys, situations without a test."""
    unknown = [f"unknown situation {key!r} in {found[key][0]}" for key in found.keys() - SITUATIONS]
    missing = [f"no test handles {key!r}" for key in SITUATIONS if key not in found]
    return sorted(unknown) + missing


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` compare it."""
    found = proofs()
    wrong = faults(found)
    if "--check" in arguments:
        if not PAGE.exists() or PAGE.read_text() != page(found):
            wrong.append(
                f"{PAGE.relative_to(ROOT)} is out of step: run `python -m tests.situations`"
            )
    else:
        PAGE.write_text(page(found))
    print("\n".join(wrong) or f"{len(SITUATIONS)} situations, each with a test")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
