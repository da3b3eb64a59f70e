"""Headless Chromium over its DevTools protocol: open a page, run scripts in it, hear what it complains of.

As a program it takes the pictures in ``docs``: ``python -m tests.report.browser PAGE PICTURE --size 900x1560
[--dark]``.
"""

import argparse
import asyncio
import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from tornado.websocket import WebSocketClientConnection, websocket_connect

__all__ = ["Browser", "chromium"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120.0


def chromium() -> str | None:
    """The browser's program, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


async def _connected(address: str) -> WebSocketClientConnection:
    return await websocket_connect(address, max_message_size=1 << 28, connect_timeout=SECONDS)


class Browser:
    """One page.

    Members
    -------
    complaints : what went to its console as an error or warning, exceptions, and requests that left the disk.
    """

    def __init__(self, connection: WebSocketClientConnection, loop: asyncio.AbstractEventLoop) -> None:
        self._connection, self._loop = connection, loop
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    @classmethod
    @contextmanager
    def started(cls, program: str) -> Iterator[Self]:
        """A browser without windows and without a network, for as long as the context lasts."""
        loop = asyncio.new_event_loop()
        with TemporaryDirectory(prefix="hwgen-browser-", ignore_cleanup_errors=True) as profile:
            command = [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars",
                "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
            ]  # fmt: skip
            process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            try:
                assert process.stderr is not None
                address = next(
                    found[1] for line in process.stderr if (found := re.search(r"listening on (ws://\S+)", line))
                )
                yield cls(loop.run_until_complete(_connected(address)), loop)
            finally:
                process.kill()
                process.communicate()
                loop.close()

    def open(self, file: Path, *, width: int = 1200, height: int = 900, dark: bool = False, anchor: str = "") -> None:
        """Open a file, at the part of it after ``#``, in a new tab of this size."""
        self._session = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self._ask(f"{domain}.enable")
        scheme = "dark" if dark else "light"
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self._ask("Page.navigate", url=file.resolve().as_uri() + anchor)
        while self.run("document.readyState") != "complete" or self.run("location.protocol") != "file:":
            pass

    def run(self, script: str, *, wait: bool = False) -> Any:
        """The value of an expression in the page; of a promise, once it is kept."""
        answer = self._ask(
            "Runtime.evaluate", expression=script, returnByValue=True, userGesture=True, awaitPromise=wait
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, *, whole: bool = False) -> str:
        """What is to be seen, as PNG in base 64."""
        return str(self._ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def printed(self) -> str:
        """The page as PDF, in base 64."""
        return str(self._ask("Page.printToPDF", printBackground=True)["data"])

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        return self._loop.run_until_complete(asyncio.wait_for(self._answer(message), SECONDS))

    async def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        await self._connection.write_message(json.dumps(message))
        while True:
            text = await self._connection.read_message()
            assert text is not None, "the browser is gone"
            answer = json.loads(text)
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._hear(answer)

    def _hear(self, event: dict[str, Any]) -> None:
        details = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.complaints.append(str(details["entry"]))
            case "Network.requestWillBeSent":
                address = details["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:", "about:")):
                    self.complaints.append(f"request to {address}")


def main() -> None:
    """Take a picture of a page; what it complains of is an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.report.browser")
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--size", default="900x1560", metavar="WIDTHxHEIGHT")
    parser.add_argument("--dark", action="store_true")
    asked = parser.parse_args()
    width, height = map(int, asked.size.split("x"))
    program = chromium()
    if program is None:
        parser.error("Chromium is missing")
    with Browser.started(program) as browser:
        browser.open(asked.page, width=width, height=height, dark=asked.dark)
        asked.picture.write_bytes(base64.b64decode(browser.screenshot()))
        if browser.complaints:
            parser.error("; ".join(browser.complaints))


if __name__ == "__main__":
    main()
