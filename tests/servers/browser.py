"""Headless Chromium, spoken to over its DevTools protocol: what a page asks for, says and shows."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass(slots=True)
class Visit:
    """What came of opening one page."""

    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, the page itself first."""
    complaints: list[str] = field(default_factory=list)
    """Console messages, log entries (refused scripts among them) and exceptions."""
    answers: list[Any] = field(default_factory=list)
    """Of the expressions, in order."""


@dataclass(frozen=True, slots=True)
class Browser:
    address: str
    """Of its DevTools endpoint."""

    def visit(
        self, page: Path, *expressions: str, width: int = 1280, scheme: str = "light"
    ) -> Visit:
        """Open a file in a tab of its own, and evaluate JavaScript there from outside."""
        return asyncio.run(self._visit(page.resolve().as_uri(), expressions, width, scheme))

    async def _visit(
        self, url: str, expressions: tuple[str, ...], width: int, scheme: str
    ) -> Visit:
        visit = Visit()
        async with (
            aiohttp.ClientSession() as session,
            session.put(f"{self.address}/json/new?about:blank") as tab,
            session.ws_connect((await tab.json(content_type=None))["webSocketDebuggerUrl"]) as ws,
        ):
            tell = _Conversation(ws, visit)
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tell(f"{domain}.enable")
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
            await tell("Emulation.setDeviceMetricsOverride", **metrics)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            await tell("Emulation.setEmulatedMedia", features=features)
            await tell("Page.navigate", url=url)
            await tell.until("Page.loadEventFired")
            for expression in expressions:
                told = await tell("Runtime.evaluate", expression=expression, returnByValue=True)
                visit.answers.append(told["result"].get("value"))
            await tell("Page.close")
        return visit


class _Conversation:
    def __init__(self, ws: aiohttp.ClientWebSocketResponse, visit: Visit) -> None:
        self._ws, self._visit = ws, visit
        self._number = 0
        self._seen: set[str] = set()

    async def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        await self._ws.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = await self._next()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    async def until(self, event: str) -> None:
        while event not in self._seen:
            await self._next()

    async def _next(self) -> dict[str, Any]:
        message = json.loads((await self._ws.receive(timeout=60)).data)
        event, params = message.get("method", ""), message.get("params", {})
        self._seen.add(event)
        if event == "Network.requestWillBeSent":
            self._visit.requests.append(params["request"]["url"])
        elif event in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self._visit.complaints.append(json.dumps(params))
        return message


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """Debian's chromium, or whatever of its kind is there."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser here ({', '.join(NAMES)}); `apt-get install chromium` brings one")
    profile = tmp_path_factory.mktemp("browser")
    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "DevTools listening on" in line)
        yield Browser("http://" + line.split("ws://")[1].split("/")[0])
    finally:
        process.terminate()
        process.communicate()
