"""A real Chromium, driven through its own debugging protocol over a pair of pipes.

No driver program and no package is needed for that: messages are JSON, each ended by a zero byte.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from tests.parts import CHROMIUM

KEYS = {
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Tab": 9,
}


_PLACE_PIPES = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def find_chromium() -> str:
    for name in CHROMIUM:
        if found := shutil.which(name):
            return found
    raise RuntimeError("no Chromium on PATH; on Debian: apt-get install chromium")


class Page:
    """One page, seen and touched as a person does."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._count = 0
        self._buffer = b""
        self._session: str | None = None
        self.requests: list[str] = []
        """Every URL the page has asked for."""
        self.errors: list[str] = []
        """What the page's console complained about."""

    def attach(self) -> None:
        """Open the page and follow what happens on it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = str(attached["sessionId"])
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._commands.close()
        self._answers.close()

    def call(self, method: str, **params: object) -> Mapping[str, object]:
        """Send one command and return its answer, noting the events before it."""
        self._count += 1
        message: dict[str, object] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            received = self._receive()
            if received.get("id") == self._count:
                if "error" in received:
                    raise AssertionError(f"{method}: {received['error']}")
                return cast("dict[str, object]", received["result"])
            self._note(received)

    def open(self, url: str) -> None:
        """Load a page and wait for it."""
        self.requests.clear()
        self.call("Page.navigate", url=url)
        while self.value("document.readyState") != "complete":
            pass

    def show(self, width: int, height: int, *, dark: bool = False, scale: float = 1) -> None:
        """Set the size of the window, how fine the screen is, and what the user prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        preference = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[preference])

    def value(self, expression: str) -> object:
        """What an expression is worth in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return cast("dict[str, object]", answer["result"]).get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression holds in the page."""
        until = time.monotonic() + 30
        while not self.value(expression):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """The text of the first element a selector finds."""
        return str(self.value(f"document.querySelector({json.dumps(selector)}).textContent"))

    def press(self, key: str) -> None:
        """Press and release a key."""
        params: dict[str, object] = {"key": key, "code": key}
        if key in KEYS:
            params["windowsVirtualKeyCode"] = KEYS[key]
            if key == "Enter":
                params["text"] = "\r"
        else:
            params["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text: str) -> None:
        """Type a text where the keyboard is."""
        self.call("Input.insertText", text=text)

    def point(self, selector: str, *, click: bool = False) -> None:
        """Move the pointer over an element, and click it if wanted."""
        x, y = self._middle(selector)
        at: dict[str, object] = {"x": x, "y": y}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def wheel(self, selector: str, amount: int, *, control: bool = False) -> None:
        """Turn the wheel over the middle of an element; up is negative."""
        self.point(selector)
        x, y = self._middle(selector)
        self.call(
            "Input.dispatchMouseEvent",
            type="mouseWheel",
            x=x,
            y=y,
            deltaX=0,
            deltaY=amount,
            modifiers=2 if control else 0,
        )

    def drag(self, selector: str, across: int) -> None:
        """Press on the middle of an element, move sideways, and let go."""
        x, y = self._middle(selector)
        at: dict[str, object] = {"y": y, "button": "left", "buttons": 1, "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, **at)
        for step in (1, 2, 3, 4):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + across * step / 4, **at)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + across, **at)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f"e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); }})()"
        )

    def saved(self, selector: str, folder: Path) -> Path:
        """Click what saves a file, and return the file once it is complete."""
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        before = set(folder.iterdir())
        self.point(selector, click=True)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            done = [f for f in folder.iterdir() if f not in before and f.suffix != ".crdownload"]
            if done and done[0].stat().st_size:
                return done[0]
            time.sleep(0.05)
        raise AssertionError(f"{selector} has saved nothing")

    def printed(self) -> bytes:
        """What the browser prints, as PDF."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(str(answer["data"]))

    def screenshot(self, file: Path) -> None:
        """Write what is seen as PNG."""
        answer = self.call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(str(answer["data"])))

    def _middle(self, selector: str) -> tuple[float, float]:
        """Where the middle of an element is, once it is in view."""
        x, y = cast(
            "list[float]",
            self.value(
                f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                "e.scrollIntoView({block: 'nearest'});"
                "const b = e.getBoundingClientRect();"
                "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
            ),
        )
        return x, y

    def _receive(self) -> Mapping[str, object]:
        while b"\0" not in self._buffer:
            part = self._answers.read1(65_536)
            if not part:
                raise AssertionError("the browser has ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return cast("dict[str, object]", json.loads(message))

    def _note(self, event: Mapping[str, object]) -> None:
        params = cast("dict[str, object]", event.get("params", {}))
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(str(cast("dict[str, object]", params["request"])["url"]))
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            self.errors.append(str(params["entry"]))


@contextmanager
def browser(profile: Path) -> Generator[Page]:
    """Run a browser with an empty profile while the context lasts."""
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    # Out of the way of 3 and 4, where the browser expects its pipes.
    command_end = fcntl.fcntl(command_out, fcntl.F_DUPFD, 10)
    answer_end = fcntl.fcntl(answer_in, fcntl.F_DUPFD, 10)
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _PLACE_PIPES, str(command_end), str(answer_end)),
            *(find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu"),
            *("--hide-scrollbars", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update"),
            *("--remote-debugging-pipe", f"--user-data-dir={profile}"),
        ],
        pass_fds=(command_end, answer_end),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in (command_end, answer_end):
        os.close(end)
    os.close(command_out)
    os.close(answer_in)
    page = Page(command_in, answer_out)
    try:
        page.attach()
        yield page
    finally:
        page.close()
        process.terminate()
        process.wait()
