"""``hostile``: every answer of every operation, changed into what no service answers.

They run as processes, on a deployed world. Whatever is answered, the exit status is
never the one of a defect of ours, nobody reads a traceback, the run ends, and it says that it did
its work only where the work is done: with status 0 the world is as after a run without the fault.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from contract.messages.base import Verb
from operations.errors import ExitCode
from simulator.home import CHECKOUT
from simulator.requests import Entry
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, is_list, is_object
from tests.faults import worlds
from tests.faults.calls import call_of
from tests.faults.kinds import HTML, PAGE
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, Stage

VERB = "hostile"
EXAMPLES: Final = 6
"""Answers that are drawn for each verb and mutation in the whole sweep."""
HANGS_SECONDS: Final = 20.0
"""All waits are none in this world, so that it never ends by itself."""
MOST_CALLS: Final = 400
"""More requests than any operation needs: it would go on for ever."""
PENDING: Final = "pending"
"""A deployed world in which the connection waits for approval, and nothing is in Grafana."""
READ_ONLY: Final = frozenset({Verb.SURVEY, Verb.OBSERVE, Verb.CHECK_SIGNAL, Verb.KUBE_TOKEN})
DEFECTS: Final = ("Traceback", "report it")
UNKNOWN: Final = ("forbidden", "unauthenticated", "refused", "unreachable", "not-asked")
"""What a survey says of what it could not see (:class:`contract.messages.survey.Presence`)."""
DEEP: Final = 100_000
JSON_TYPE: Final = {"Content-Type": "application/json"}

Json = object
Change = Callable[[Json, int], Json]


# --- mutations --------------------------------------------------------------------------------


def places(document: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values in a document but itself; entries of lists left out, members not."""
    if is_object(document):
        for key, value in document.items():
            yield (*path, key)
            yield from places(value, (*path, key))
    elif is_list(document):
        for number, value in enumerate(document):
            yield from places(value, (*path, number))


def _at_one_place(change: Callable[[JsonObject, str], None]) -> Change:
    def changed(document: Json, number: int) -> Json:
        found = list(places(document))
        if not found:
            return change_of_all(document)
        copy: Json = json.loads(json.dumps(document))
        *above, last = found[number % len(found)]
        target = _inside(copy, above)
        change(target, str(last))
        return copy

    def change_of_all(document: Json) -> Json:
        return [document]

    return changed


def _inside(document: Json, path: Sequence[str | int]) -> JsonObject:
    for step in path:
        if is_list(document) and isinstance(step, int):
            document = document[step]
        else:
            document = as_object(document)[str(step)]
    return as_object(document)


def _remove(target: JsonObject, key: str) -> None:
    target.pop(key, None)


def _set(value: Json) -> Callable[[JsonObject, str], None]:
    def change(target: JsonObject, key: str) -> None:
        target[key] = value

    return change


def _wrong_type(target: JsonObject, key: str) -> None:
    target[key] = "text" if not isinstance(target.get(key), str) else [{"a": None}]


def _every_text(by: Callable[[str], str]) -> Change:
    def changed(document: Json, number: int) -> Json:
        del number
        return _mapped(document, by)

    return changed


def _mapped(value: Json, by: Callable[[str], str]) -> Json:
    if is_object(value):
        return {key: _mapped(one, by) for key, one in value.items()}
    if is_list(value):
        return [_mapped(one, by) for one in value]
    return by(value) if isinstance(value, str) else value


OTHERS: Final[tuple[Json, ...]] = tuple(
    json.loads(text)
    for text in ("null", "[]", "{}", '"text"', "7", "true", "[[]]", "[null]", '{"value": null}')
)
CHANGES: Final[Mapping[str, Change]] = {
    "missing": _at_one_place(_remove),
    "null": _at_one_place(_set(None)),
    "wrong type": _at_one_place(_wrong_type),
    "a number": _at_one_place(_set(7)),
    "long": _every_text(lambda text: text * 300),
    "unicode": _every_text(lambda text: f"\u202e\0\u00c4\U0001f600\\\"'<\n\x1b[31m{text}"),
    "another document": lambda _, number: OTHERS[number % len(OTHERS)],
}
"""What becomes of the JSON of an answer; the number chooses the place."""

AS_SENT: Final[Mapping[str, JsonObject]] = {
    "a page": {"status": 200, "headers": HTML, "text": PAGE},
    "a page as JSON": {"status": 200, "headers": JSON_TYPE, "text": PAGE},
    "nothing": {"status": 200, "text": ""},
    "no content": {"status": 204},
    "deep": {"status": 200, "headers": JSON_TYPE, "text": "[" * DEEP + "]" * DEEP},
    "a deep object": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"a":' * DEEP + "1" + "}" * DEEP,
    },
    "not a number": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"version": NaN, "expires_on": 1e999, "properties": {"count": 1e999}}',
    },
    "half a character": {
        "status": 200,
        "headers": JSON_TYPE,
        "text": '{"name": "\\ud800", "properties": {"endpoint": "\\udfff"}, "message": "\\ud83d"}',
    },
    "half a character in an error": {
        "status": 400,
        "headers": JSON_TYPE,
        "text": '{"error": {"code": "\\ud800", "message": "\\udfff"}, "message": "\\ud800"}',
    },
    "bytes of no encoding": {"status": 200, "headers": JSON_TYPE, "base64": "//4A/w=="},
    "another charset": {
        "status": 200,
        "text": "{}",
        "headers": {"Content-Type": "application/json; charset=klingon"},
    },
    "bad gzip": {"encoding": "gzip"},
    "a redirect": {"status": 302, "headers": {"Location": "https://login.invalid/x"}},
    "a redirect without TLS": {"status": 307, "headers": {"Location": "http://127.0.0.1:9/x"}},
    "not modified": {"status": 304},
    "a long refusal": {"status": 451, "text": "x" * 2_000_000},
    "an odd challenge": {
        "status": 401,
        "headers": {"WWW-Authenticate": 'Bearer claims="%%%", error="insufficient_claims"'},
    },
    "wait for a year": {"status": 429, "headers": {"Retry-After": "31536000"}},
    "wait until a date": {
        "status": 429,
        "headers": {"Retry-After": "Wed, 21 Oct 2037 07:28:00 GMT"},
    },
    "wait for no number": {"status": 429, "headers": {"Retry-After": "nan"}},
    "cut": {"cut": 0.5},
}
"""What is sent in place of an answer, or of all of its body."""


def effect(mutation: str, answer: str, number: int) -> JsonObject:
    """The effect of a fault rule: ``answer``, mutated."""
    if mutation in AS_SENT:
        return AS_SENT[mutation]
    try:
        document: Json = json.loads(answer)
    except ValueError:
        document = {}
    changed = CHANGES[mutation](document, number)
    return {"status": 200, "headers": JSON_TYPE, "text": json.dumps(changed)}


MUTATIONS: Final = (*CHANGES, *AS_SENT)


# --- the operations ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One run of one operation, on a kept state."""

    name: str
    verb: Verb
    request: str
    state: str


@dataclass(frozen=True)
class Usual:
    """What a job does without a fault."""

    said: "Said"
    world: object
    answers: tuple[Entry, ...]


@dataclass(frozen=True)
class Said:
    """What one run of an operation left."""

    status: int
    """-1 where it does not end."""
    answer: str
    """Standard output."""
    progress: str
    """Standard error."""

    @property
    def facts(self) -> Json:
        """The answer as JSON; None if it has none."""
        try:
            return json.loads(self.answer)
        except ValueError:
            return None


class Operations:
    """Runs the operations of a stage's stack in this process."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._usual: dict[str, Usual] = {}
        stage.begin(PHASES["destroy"])
        self.jobs = {job.name: job for job in self._jobs()}
        self._make_pending()

    def usual(self, job: Job) -> Usual:
        """See :class:`Usual`; found out once."""
        if job.name not in self._usual:
            self.stage.go_back(job.state)
            self._settings(phase=job.name, answers=True)
            said = self.call(job)
            assert said.status in (ExitCode.OK, ExitCode.NO_SIGNAL), f"{job.name}: {said}"
            # Some are asked for side by side: the same draw is the same answer in every run.
            answers = sorted(
                (one for one in self.stage.requests() if one.phase == job.name),
                key=lambda one: (one.service, one.path, one.method, one.query),
            )
            self._settings(phase="", answers=False)
            self._usual[job.name] = Usual(said, self.stage.world(), tuple(answers))
        return self._usual[job.name]

    def call(self, job: Job) -> Said:
        """Run it."""
        command = ["sh", "operations/run", job.verb.value]
        try:
            done = subprocess.run(
                command,
                cwd=CHECKOUT,
                env=self.stage.sim.environment,
                input=job.request,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=HANGS_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Said(-1, "", f"it goes on after {HANGS_SECONDS:.0f} s")
        return Said(done.returncode, done.stdout, done.stderr)

    def _settings(self, **settings: object) -> None:
        self.stage.sim.control("POST", "settings", settings)

    def _jobs(self) -> Iterator[Job]:
        stage = self.stage
        done = stage.sim.pulumi("stack", "export", "--show-secrets", "--stack", "dev")
        resources = as_objects(dig(json.loads(done.output), "deployment", "resources"))
        for resource in resources:
            if as_text(resource["type"]) != "command:local:Command":
                continue
            inputs = as_object(resource.get("inputs"))
            name = as_text(resource["urn"]).rpartition("::")[2]
            for moment, state in (("create", PENDING), ("delete", "dev up")):
                command = as_text(inputs.get(moment)).split()
                if command and command[-1] != Verb.HOLD_PRIVATE_LINK:
                    verb = Verb(command[-1])
                    yield Job(f"{verb} of {name}", verb, as_text(inputs["stdin"]), state)
        outputs = json.loads(stage.sim.pulumi("stack", "output", "--json", "--stack", "dev").output)
        signal = json.dumps(as_object(outputs)["signalCheck"])
        yield Job("check-signal", Verb.CHECK_SIGNAL, signal, "dev up")
        yield Job("survey", Verb.SURVEY, json.dumps(SURVEY), "dev up")
        yield Job("observe", Verb.OBSERVE, json.dumps(_observed(resources)), "dev up")
        yield Job("kube-token", Verb.KUBE_TOKEN, "", "dev up")

    def _make_pending(self) -> None:
        self.stage.begin(PHASES["up"])
        then = {"status": 403, "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}}
        self.stage.sim.faults(
            {
                "method": "PUT",
                "path": ".*/privateEndpointConnections/[^/]+",
                "caller": "gpuobs",
                "count": None,
                "then": then,
            }
        )
        done = self.stage.run("up")
        assert not done.ok
        self.stage.sim.faults()
        self.stage.keep(PENDING)


_GROUP: Final = "/subscriptions/11111111-1111-4111-8111-111111111111/resourceGroups/rg-dev"
_CLUSTER: Final = f"{_GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
SURVEY: Final[JsonObject] = {
    "providerSubscriptionId": "11111111-1111-4111-8111-111111111111",
    "providerObjectId": "22222222-2222-4222-8222-222222222222",
    "namespaces": ["Microsoft.ContainerService", "Microsoft.Dashboard", "Microsoft.Network"],
    "clusterId": _CLUSTER,
    "extensionId": f"{_CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/x",
    "grafanaId": f"{_GROUP}/providers/Microsoft.Dashboard/grafana/grafana-dev",
    "workspaceId": f"{_GROUP}/providers/Microsoft.Monitor/accounts/amw-dev",
    "collectionRuleId": f"{_GROUP}/providers/Microsoft.Insights/dataCollectionRules/x",
    "resourceGroup": "rg-dev",
    "gpuVmSize": "Standard_NC24ads_A100_v4",
    "lookInside": True,
    "listEndpoints": True,
}


def _observed(resources: Sequence[JsonObject]) -> JsonObject:
    """The request of ``observe``, from those that made the things."""
    request: JsonObject = {"dataSources": {}, "dashboards": {}}
    for resource in resources:
        inputs = as_object(resource.get("inputs"))
        name = as_text(resource["urn"]).rpartition("::")[2]
        match as_text(inputs.get("create")).split()[-1:]:
            case ["apply-data-source"]:
                as_object(request["dataSources"])[name] = json.loads(as_text(inputs["stdin"]))
            case ["apply-dashboard"]:
                as_object(request["dashboards"])[name] = json.loads(as_text(inputs["stdin"]))
            case ["approve-private-endpoint"]:
                request["approval"] = json.loads(as_text(inputs["stdin"]))
            case _:
                pass
    return request


# --- cases ------------------------------------------------------------------------------------


def complaint(operations: Operations, job: Job, nth: int, mutation: str, number: int) -> str:
    """What is wrong where the nth answer of ``job`` is mutated for ever; empty if nothing is."""
    usual = operations.usual(job)
    if not usual.answers:
        return ""  # it asks nobody
    entry = usual.answers[nth % len(usual.answers)]
    stage = operations.stage
    stage.go_back(job.state)
    rule = {**call_of(entry).rule(), "count": None, "then": effect(mutation, entry.answer, number)}
    stage.sim.faults({key: value for key, value in rule.items() if key != "caller"})
    calls = stage.calls()
    said = operations.call(job)
    calls = stage.calls() - calls
    stage.sim.faults()
    where = f"{entry.method} {call_of(entry).path} #{number}"
    if said.status == -1:
        return f"{where}: {said.progress}"
    if said.status == ExitCode.UNEXPECTED or any(one in said.progress for one in DEFECTS):
        return f"{where}: a defect: {_gist(said.progress)}"
    if calls > MOST_CALLS:
        return f"{where}: {calls} requests"
    wrong: list[str] = []
    if said.status == ExitCode.OK and job.verb is Verb.SURVEY and mutation in AS_SENT:
        wrong = list(invented(usual.said.facts, said.facts))
    elif said.status == ExitCode.OK and job.verb not in READ_ONLY:
        wrong = worlds.differences(usual.world, stage.world(), 2)
    return f"{where}: status 0, and {'; '.join(wrong[:2])}" if wrong else ""


def invented(usual: Json, now: Json, path: str = "") -> Iterator[str]:
    """What a survey says that is so, and is not, though nothing was answered that says it."""
    if is_object(usual) and is_object(now):
        if as_text(now.get("presence"), "found") in UNKNOWN:
            return
        for key, value in now.items():
            yield from invented(usual.get(key), value, f"{path}/{key}")
    elif now != usual and now not in (None, "", [], {}, *UNKNOWN):
        yield f"{path} is {json.dumps(now)[:60]}"


def _gist(said: str) -> str:
    """The line that says what happened: of a traceback the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if "unexpected" in line or "Error" in line]
    return " / ".join(named[:1] or lines[-1:])[:200]


def cases() -> Iterator[str]:
    """``verb / mutation``."""
    for verb in Verb:
        if verb is not Verb.HOLD_PRIVATE_LINK:  # it asks nobody
            for mutation in MUTATIONS:
                yield f"{verb.value} / {mutation}"


def run(operations: Operations, case: str) -> Result:
    """Run one case."""
    verb, mutation = case.split(" / ")
    jobs = [job for job in operations.jobs.values() if job.verb.value == verb]
    assert jobs, f"no {verb} in the stack"
    return judged(VERB, case, drawn(operations, jobs, mutation, EXAMPLES))


def drawn(operations: Operations, jobs: Sequence[Job], mutation: str, examples: int) -> list[str]:
    """The complaints of so many jobs, answers and places in them, as Hypothesis draws them."""
    found: list[str] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 1000))
    def draw(which: int, nth: int, number: int) -> None:
        said = complaint(operations, jobs[which % len(jobs)], nth, mutation, number)
        if said and said not in found:
            found.append(said)

    draw()
    return found
