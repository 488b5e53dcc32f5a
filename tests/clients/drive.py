"""The official Python SDK, of both protocols: `python drive.py PLAN`, PLAN being JSON.

Does what steps.mjs does, and reports in the same words."""

import json
import re
import sys
import time
import warnings

import anyio
import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

PATIENCE = 50
UNENDED = ["queued", "preparing", "running"]


def plain(result):
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


class Driver:
    def __init__(self, plan):
        self.plan = plan
        self.is_newer = plan["protocol"] == "2026-07-28"
        self.kept = {}
        self.on_updated = lambda uri: None

    async def heard(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self.on_updated(str(message.params.uri))

    async def drive(self, client):
        self.client = client
        report = []
        for step in self.plan["steps"]:
            text = json.dumps(step)
            for name, value in self.kept.items():
                text = text.replace("$" + name, value)
            step = json.loads(text)
            try:
                report.append(await getattr(self, step["do"])(step))
            except Exception as error:
                report.append({"error": repr(error)})
        return report

    async def tools(self, step):
        return plain(await self.client.list_tools())

    async def call(self, step):
        progress = 0

        async def told(*_):
            nonlocal progress
            progress += 1

        began = time.monotonic()
        result, calls = await self.answered(step, told)
        ms = 1000 * (time.monotonic() - began)
        for name, pattern in step.get("find", {}).items():
            self.kept[name] = re.search(pattern, result.content[0].text)[1]
        for name, path in step.get("keep", {}).items():
            value = result.structured_content
            for field in path.split("."):
                value = value[int(field)] if field.isdigit() else value[field]
            self.kept[name] = value
        said = plain(result)
        size = len(json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode())
        return {"result": said, "progress": progress, "ms": ms, "calls": calls, "bytes": size}

    async def answered(self, step, told):
        """The answer, asked for `again` so often where there was none; a refusal with `done` in it is one."""
        left, calls = step.get("again", 0), 0
        while True:
            calls += 1
            try:
                result = await self.client.call_tool(step["tool"], step["arguments"], progress_callback=told)
                if result.is_error and step.get("done") and step["done"] in result.content[0].text:
                    result = types.CallToolResult(content=[])
                if not result.is_error or calls > left:
                    return result, calls
            except Exception:
                if calls > left:
                    raise
            await anyio.sleep(0.2)

    async def write(self, step):
        await anyio.Path(step["path"]).write_text(step["content"])
        return {}

    async def cancel(self, step):
        with anyio.CancelScope() as scope:

            async def told(*_):
                scope.cancel()

            result = await self.client.call_tool(step["tool"], step["arguments"], progress_callback=told)
            return {"result": plain(result)}
        return {"cancelled": scope.cancelled_caught}

    async def run_to_end(self, step):
        states, longest = [], 0
        while not states or states[-1] in UNENDED:
            began = time.monotonic()
            asked = {"run_id": step["run"], "wait": step["wait"]}
            result = await self.client.call_tool("run_wait", asked)
            longest = max(longest, 1000 * (time.monotonic() - began))
            if result.is_error:
                return {"error": result.content[0].text}
            states.append(result.structured_content["state"])
        return {"states": states, "longest": longest}

    async def resources(self, step):
        listed = plain(await self.client.list_resources())
        return listed | plain(await self.client.list_resource_templates())

    async def read(self, step):
        return plain(await self.client.read_resource(step["uri"]))

    async def watch(self, step):
        uri, tool, arguments = step["uri"], step["tool"], step["arguments"]
        with anyio.fail_after(PATIENCE):
            if self.is_newer:
                async with self.client.listen(resource_subscriptions=[uri]) as events:
                    await self.client.call_tool(tool, arguments)
                    async for event in events:
                        return {"updated": str(event.uri) == uri}
            told = anyio.Event()
            self.on_updated = lambda updated: told.set() if updated == uri else None
            await self.client.subscribe_resource(uri)
            await self.client.call_tool(tool, arguments)
            await told.wait()
            await self.client.unsubscribe_resource(uri)
            return {"updated": True}

    async def prompts(self, step):
        return plain(await self.client.list_prompts())

    async def prompt(self, step):
        return plain(await self.client.get_prompt(step["name"], step["arguments"]))


async def main():
    plan = json.loads(sys.argv[1])
    driver = Driver(plan)
    if "url" in plan:
        http = httpx2.AsyncClient(headers=plan["headers"], timeout=httpx2.Timeout(30, read=300))
        server = streamable_http_client(plan["url"], http_client=http)
    else:
        server = StdioServerParameters(command=plan["command"], args=plan["args"], env=plan["env"])
    mode = plan["protocol"] if driver.is_newer else "legacy"
    async with Client(server, mode=mode, message_handler=driver.heard) as client:
        steps = await driver.drive(client)
        protocol = client.protocol_version
    print(json.dumps({"steps": steps, "protocol": protocol}))


# How clients of the older protocol subscribe is deprecated, and still to be served.
warnings.simplefilter("ignore")
anyio.run(main)
