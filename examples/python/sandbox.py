"""A payments sandbox that runs as a child process of the tests."""

import json
import subprocess
from urllib.request import Request, urlopen

COMMAND = ["node", "node_modules/payments-mcp/dist/src/cli.js", "serve"]
FLAGS = ["--json", "--port", "0", "--database-url", "sqlite::memory:", "--log-level", "silent"]


class Sandbox:
    def __init__(self):
        self._process = subprocess.Popen(COMMAND + FLAGS, stdout=subprocess.PIPE, text=True)
        # When the sandbox is ready, it prints one line of JSON.
        line = self._process.stdout.readline()
        if line == "":
            self.close()
            raise RuntimeError("The sandbox did not start. The reason is on stderr.")
        ready = json.loads(line)
        self.url = ready["url"]
        self.mcp_url = ready["mcpUrl"]
        self.keys = ready["keys"]

    def call(self, method, path, attributes=None):
        """Calls the API with the API key of the sandbox's first party. This key may also control the sandbox."""
        headers = {"Authorization": f"Bearer {self.keys['api']}", "Content-Type": "application/json"}
        body = None if attributes is None else json.dumps({"data": {"attributes": attributes}}).encode()
        with urlopen(Request(self.url + path, body, headers, method=method)) as response:
            return json.load(response)["data"]

    def reset(self):
        self.call("POST", "/simulations/reset")

    def close(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
