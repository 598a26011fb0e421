"""What pulumi-command 1.2 does, held by the simulator's own."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.plugins.properties import UNKNOWN, Secret
from tests.simulator.plugin_process import CallFailed, Plugin, running, urn

COMMAND = urn("command:local:Command", "deploy")
RUN = "command:local:run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("program")


@pytest.fixture(scope="module")
def plugin(folder: Path) -> Iterator[Plugin]:
    environment = {**os.environ, "OF_THE_PLUGIN": "inherited"}
    with running("simulator.plugins.command", cwd=folder, environment=environment) as started:
        yield started


def create(plugin: Plugin, **inputs: object) -> dict[str, object]:
    """The outputs of a command made with these inputs."""
    return plugin.create(COMMAND, inputs)[1]


# --- how a command runs -------------------------------------------------------------------------


def test_the_text_is_run_by_a_posix_shell(plugin: Plugin) -> None:
    assert create(plugin, create="x=3; echo $((x + 1))")["stdout"] == "4"


def test_an_interpreter_gets_the_text_as_its_last_argument(plugin: Plugin) -> None:
    made = create(plugin, create="one two", interpreter=["/bin/echo", "first"])
    assert made["stdout"] == "first one two"


def test_the_directory_is_the_plugins_own_which_is_the_programs(
    plugin: Plugin, folder: Path
) -> None:
    assert create(plugin, create="pwd -P")["stdout"] == str(folder.resolve())


def test_dir_sets_the_directory(plugin: Plugin, tmp_path: Path) -> None:
    made = create(plugin, create="pwd -P", dir=str(tmp_path))
    assert made["stdout"] == str(tmp_path.resolve())


def test_the_environment_is_the_plugins_whole_one_then_the_inputs(plugin: Plugin) -> None:
    made = create(plugin, create="echo $OF_THE_PLUGIN $OWN", environment={"OWN": "given"})
    assert made["stdout"] == "inherited given"
    made = create(plugin, create="echo $OF_THE_PLUGIN", environment={"OF_THE_PLUGIN": "other"})
    assert made["stdout"] == "other"


def test_stdin_is_given_to_the_command(plugin: Plugin) -> None:
    assert create(plugin, create="cat", stdin='{"a": 1}\n')["stdout"] == '{"a": 1}'


def test_without_stdin_the_command_finds_it_empty(plugin: Plugin) -> None:
    assert create(plugin, create="cat")["stdout"] == ""
    assert create(plugin, create="cat", stdin="")["stdout"] == ""


def test_a_command_that_does_not_read_a_long_stdin_succeeds(plugin: Plugin) -> None:
    assert create(plugin, create="echo done", stdin="x" * 1_000_000)["stdout"] == "done"


def test_one_trailing_newline_is_cut_from_each_output(plugin: Plugin) -> None:
    made = create(plugin, create="printf 'a\\n\\n'; printf 'b\\n' >&2")
    assert (made["stdout"], made["stderr"]) == ("a\n", "b")


@pytest.mark.handles("output-kept")
def test_large_output_is_kept_whole(plugin: Plugin) -> None:
    made = create(plugin, create="head -c 300000 /dev/zero | tr '\\0' x", logging="none")
    assert made["stdout"] == "x" * 300_000


# --- the previous output ------------------------------------------------------------------------


def test_an_update_sees_the_previous_output_in_its_environment(plugin: Plugin) -> None:
    inputs: dict[str, object] = {"create": "echo old; echo olderr >&2"}
    made, state = plugin.create(COMMAND, inputs)
    news = {**inputs, "update": "echo $PULUMI_COMMAND_STDOUT $PULUMI_COMMAND_STDERR"}
    assert plugin.update(COMMAND, made, state, news)["stdout"] == "old olderr"


def test_a_delete_sees_the_previous_output_in_its_environment(
    plugin: Plugin, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    inputs: dict[str, object] = {
        "create": "echo made",
        "delete": f"echo $PULUMI_COMMAND_STDOUT > {note}",
    }
    made, state = plugin.create(COMMAND, inputs)
    plugin.delete(COMMAND, made, state)
    assert note.read_text() == "made\n"


def test_the_previous_output_is_left_out_where_it_is_not_wanted(plugin: Plugin) -> None:
    inputs: dict[str, object] = {"create": "echo old", "addPreviousOutputInEnv": False}
    made, state = plugin.create(COMMAND, inputs)
    news = {**inputs, "update": "echo [${PULUMI_COMMAND_STDOUT-unset}]"}
    assert plugin.update(COMMAND, made, state, news)["stdout"] == "[unset]"


def test_a_first_run_has_no_previous_output(plugin: Plugin) -> None:
    made = create(plugin, create="echo ${PULUMI_COMMAND_STDOUT-unset}")
    assert made["stdout"] == "unset"


# --- what is shown ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logging", "shown"),
    [
        (None, {"out", "err"}),
        ("stdoutAndStderr", {"out", "err"}),
        ("stdout", {"out"}),
        ("stderr", {"err"}),
        ("none", set[str]()),
    ],
)
def test_logging_selects_the_streams_that_are_shown(
    plugin: Plugin, logging: str | None, shown: set[str]
) -> None:
    plugin.log.lines.clear()
    inputs: dict[str, object] = {"create": "echo out; echo err >&2"}
    made = create(plugin, **inputs, **({"logging": logging} if logging else {}))
    assert set(plugin.log.messages) == shown
    assert (made["stdout"], made["stderr"]) == ("out", "err")


def test_output_is_shown_while_the_command_still_runs(plugin: Plugin, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    plugin.log.lines.clear()
    text = f"echo begun; while [ ! -e {gate} ]; do sleep 0.02; done"
    call = threading.Thread(target=create, args=(plugin,), kwargs={"create": text})
    call.start()
    for _ in range(500):
        if plugin.log.messages:
            break
        time.sleep(0.02)
    seen_before_the_end = list(plugin.log.messages)
    gate.touch()
    call.join()
    assert seen_before_the_end == ["begun"]


# --- failing ------------------------------------------------------------------------------------


def test_a_failure_says_the_status_the_text_and_all_output_whatever_is_logged(
    plugin: Plugin,
) -> None:
    text = "echo said; echo why >&2; exit 3"
    with pytest.raises(CallFailed) as failure:
        create(plugin, create=text, logging="none")
    message = str(failure.value)
    assert message.startswith(f'exit status 3: running "{text}":\n')
    assert set(message.splitlines()[1:]) == {"said", "why"}


def test_a_failed_create_leaves_nothing_in_state(plugin: Plugin) -> None:
    with pytest.raises(CallFailed) as failure:
        create(plugin, create="exit 1")
    assert failure.value.partial is None


def test_a_failed_update_keeps_the_old_state(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"create": "echo old"})
    with pytest.raises(CallFailed) as failure:
        plugin.update(COMMAND, made, state, {"create": "echo new; exit 1"})
    assert failure.value.partial is None


def test_a_missing_interpreter_is_a_failure_that_names_it(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="no-such-shell"):
        create(plugin, create="true", interpreter=["/no-such-shell"])


def test_cancelling_kills_the_process(folder: Path) -> None:
    with running("simulator.plugins.command", cwd=folder) as plugin:
        failures: list[CallFailed] = []

        def wait() -> None:
            try:
                create(plugin, create="trap '' INT TERM; echo begun; sleep 60")
            except CallFailed as failure:
                failures.append(failure)

        call = threading.Thread(target=wait)
        call.start()
        while not plugin.log.messages:
            time.sleep(0.02)
        plugin.cancel()
        call.join(timeout=30)
        assert not call.is_alive()
        assert str(failures[0]).startswith("signal: killed: running")


# --- previews, updates, replacements ------------------------------------------------------------


def test_nothing_runs_in_a_preview(plugin: Plugin, tmp_path: Path) -> None:
    note = tmp_path / "note"
    inputs: dict[str, object] = {"create": f"touch {note}"}
    made, outputs = plugin.create(COMMAND, inputs, preview=True)
    plugin.update(COMMAND, "id", inputs, {"create": f"touch {note}; true"}, preview=True)
    assert not note.exists()
    assert made.startswith("deploy")
    assert outputs == {**inputs, "stdout": UNKNOWN, "stderr": UNKNOWN}


def test_a_new_id_is_made_for_each_creation_also_in_a_preview(plugin: Plugin) -> None:
    ids = {plugin.create(COMMAND, {"create": "true"}, preview=shown)[0] for shown in (True, False)}
    assert len(ids) == 2
    assert all(len(made) == len("deploy") + 8 for made in ids)


def test_any_changed_input_makes_the_outputs_unknown_in_a_preview(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"create": "echo a"})
    news: dict[str, object] = {"create": "echo a", "environment": {"A": "1"}}
    shown = plugin.update(COMMAND, made, state, news, preview=True)
    assert (shown["stdout"], shown["stderr"]) == (UNKNOWN, UNKNOWN)


@pytest.mark.handles("output-kept")
def test_update_runs_the_update_text_and_without_one_the_create_text(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"create": "echo created"})
    with_text: dict[str, object] = {"create": "echo created", "update": "echo updated"}
    without: dict[str, object] = {"create": "echo created again"}
    assert plugin.update(COMMAND, made, state, with_text)["stdout"] == "updated"
    assert plugin.update(COMMAND, made, state, without)["stdout"] == "created again"


def test_a_command_without_any_text_is_kept_and_does_nothing(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"stdin": "x"})
    assert (state["stdout"], state["stderr"]) == ("", "")
    plugin.delete(COMMAND, made, state)


def test_changed_triggers_replace_even_where_an_update_text_is_set(plugin: Plugin) -> None:
    old: dict[str, object] = {"create": "true", "update": "true", "triggers": ["a"]}
    answer = plugin.diff(COMMAND, old, {**old, "triggers": ["b"]})
    assert list(answer.replaces) == ["triggers[0]"]
    assert not answer.deleteBeforeReplace


def test_an_unknown_trigger_replaces(plugin: Plugin) -> None:
    old: dict[str, object] = {"create": "true", "triggers": ["a"]}
    assert list(plugin.diff(COMMAND, old, {**old, "triggers": [UNKNOWN]}).replaces)


@pytest.mark.parametrize("name", ["create", "update", "delete", "stdin", "dir", "logging"])
def test_any_other_changed_input_is_an_update(plugin: Plugin, name: str) -> None:
    old: dict[str, object] = {"create": "true", "update": "u", "delete": "d", "stdin": "s"}
    answer = plugin.diff(COMMAND, old, {**old, name: "stdout"})
    assert list(answer.diffs) == [name]
    assert not answer.replaces


def test_equal_inputs_are_no_difference(plugin: Plugin) -> None:
    inputs: dict[str, object] = {"create": "true", "environment": {"A": "1"}, "triggers": ["a"]}
    assert plugin.diff(COMMAND, inputs, dict(inputs)).changes == 1


def test_refresh_sees_nothing(plugin: Plugin) -> None:
    inputs: dict[str, object] = {"create": "echo x"}
    made, state = plugin.create(COMMAND, inputs)
    assert plugin.read(COMMAND, made, inputs, state) == (made, inputs, state)


# --- deleting -----------------------------------------------------------------------------------


def test_delete_runs_with_what_is_in_state(plugin: Plugin, tmp_path: Path) -> None:
    note = tmp_path / "note"
    state: dict[str, object] = {
        "create": "true",
        "delete": f"(cat; echo $A) > {note}",
        "stdin": "from stdin\n",
        "environment": {"A": "from environment"},
        "stdout": "",
        "stderr": "",
    }
    plugin.delete(COMMAND, "id", state)
    assert note.read_text() == "from stdin\nfrom environment\n"


def test_without_a_delete_text_deleting_does_nothing(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"create": "true"})
    plugin.delete(COMMAND, made, state)


def test_a_failed_delete_is_an_error(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="exit status 7"):
        plugin.delete(COMMAND, "id", {"delete": "exit 7", "stdout": "", "stderr": ""})


# --- secrets ------------------------------------------------------------------------------------


def test_a_secret_input_makes_both_outputs_secret_and_stays_secret(plugin: Plugin) -> None:
    made = create(plugin, create="cat", stdin=Secret("hidden"))
    assert made["stdin"] == Secret("hidden")
    assert made["stdout"] == Secret("hidden")
    assert made["stderr"] == Secret("")


def test_a_secret_output_is_used_again_in_the_clear_by_the_next_command(plugin: Plugin) -> None:
    made, state = plugin.create(COMMAND, {"create": "cat", "stdin": Secret("hidden")})
    news: dict[str, object] = {"create": "echo $PULUMI_COMMAND_STDOUT", "stdin": Secret("x")}
    assert plugin.update(COMMAND, made, state, news)["stdout"] == Secret("hidden")


# --- the function -------------------------------------------------------------------------------


@pytest.mark.parametrize("preview", [True, False])
def test_run_runs_in_previews_as_well(plugin: Plugin, preview: bool) -> None:
    answer = plugin.invoke(
        RUN,
        {"command": "cat; echo $A >&2", "stdin": "x", "environment": {"A": "y"}},
        preview=preview,
    )
    assert (answer["stdout"], answer["stderr"]) == ("x", "y")


def test_a_failing_run_says_the_status_the_text_and_all_output(plugin: Plugin) -> None:
    with pytest.raises(CallFailed) as failure:
        plugin.invoke(RUN, {"command": "echo no; exit 9"})
    assert str(failure.value) == 'exit status 9: running "echo no; exit 9":\nno\n'


# --- what it does not know ----------------------------------------------------------------------


def test_an_unknown_input_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(COMMAND, {"create": "true", "assetPaths": ["*"]})
    assert [failure.property for failure in answer.failures] == ["assetPaths"]


def test_an_unknown_logging_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(COMMAND, {"create": "true", "logging": "loud"})
    assert "'loud'" in answer.failures[0].reason


def test_an_unknown_type_or_function_is_an_error(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="command:remote:Command"):
        plugin.check(urn("command:remote:Command"), {})
    with pytest.raises(CallFailed, match="command:remote:run"):
        plugin.invoke("command:remote:run", {})


# --- the process --------------------------------------------------------------------------------


def test_the_plugin_ends_on_sigint_while_a_command_still_runs(folder: Path) -> None:
    with running("simulator.plugins.command", cwd=folder) as plugin:

        def wait() -> None:
            with pytest.raises(CallFailed):
                create(plugin, create="echo begun; exec sleep 30")

        call = threading.Thread(target=wait)
        call.start()
        while not plugin.log.messages:
            time.sleep(0.02)
        # The engine gives a plugin five seconds and then makes its user wait for nothing.
        assert plugin.interrupt() < 5
        assert plugin.process.returncode == 0
        call.join()
