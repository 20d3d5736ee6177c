"""A headless Chromium, driven through the plain HTTP interface of ChromeDriver."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

PATIENCE = 60.0
"""Seconds that anything may take on a loaded machine."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Return where Chromium is, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def missing() -> str | None:
    """Return why there can be no browser here, or None."""
    if chromium() is None:
        return "no Chromium here: install Debian's chromium"
    if shutil.which("chromedriver") is None:
        return "no ChromeDriver here: install Debian's chromium-driver"
    return None


class Browser:
    """One browser with an empty profile; leaving the context ends all its processes."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> Self:
        self.log = self.folder / "chromedriver.log"
        with self.log.open("wb") as log:
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=0"],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.port = self._port()
            options = {
                "binary": chromium(),
                "args": [*FLAGS, f"--user-data-dir={self.folder / 'profile'}"],
            }
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            opened = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{opened['sessionId']}"
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call("DELETE", self.session)
        finally:
            self._end()

    def resize(self, width: int, height: int = 900, *, phone: bool = False) -> None:
        """Give the window a size; a phone also has a touch screen."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.devtools("Emulation.setDeviceMetricsOverride", **metrics)
        self.devtools("Emulation.setTouchEmulationEnabled", enabled=phone)

    def prefer(self, scheme: str) -> None:
        """Ask pages for a light or dark scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def open(self, file: Path) -> None:
        """Load a file and wait until it is loaded."""
        self._call("POST", f"{self.session}/url", {"url": file.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """Return what the body of a function returns in the page."""
        return self._call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(f"return Boolean({condition});"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not true after {PATIENCE:g} s: {condition}")
            time.sleep(0.1)

    def console(self) -> list[dict[str, Any]]:
        """Return what the page logged since the last call."""
        return self._call("POST", f"{self.session}/se/log", {"type": "browser"})

    def requested(self) -> list[str]:
        """Return the addresses asked for since the last call."""
        entries = self._call("POST", f"{self.session}/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, file: Path) -> None:
        """Keep the whole page as a PNG."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, file: Path) -> None:
        """Keep the page as a PDF."""
        page = self._call("POST", f"{self.session}/print", {"background": True})
        file.write_bytes(base64.b64decode(page))

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Run a command of the DevTools protocol."""
        body = {"cmd": command, "params": parameters}
        return self._call("POST", f"{self.session}/goog/cdp/execute", body)

    def _port(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.driver.poll() is None:
            if found := re.search(r"successfully on port (\d+)", self.log.read_text()):
                return int(found.group(1))
            time.sleep(0.05)
        raise TimeoutError(f"ChromeDriver did not start: {self.log.read_text()}")

    def _call(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            value = json.loads(response.read())["value"]
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise RuntimeError(f"{method} {path}: {value['message']}")
        return value

    def _end(self) -> None:
        """End the driver and whatever it started: they are one process group, our own."""
        with suppress(ProcessLookupError):
            os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait(PATIENCE)
