"""The conformance fixture on the Python SDK, as its users write servers: it speaks both eras, and asks its
client as each of them does. `python server.py` takes a free port; the URL is the first line on stdout."""

import asyncio
import json
import pathlib
import secrets
import socket
import warnings

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")
KNOWN = json.loads((pathlib.Path(__file__).parent / "definitions.json").read_text())
SEAL = secrets.token_hex(16)
PAUSE = 0.05
INVALID_PARAMS, MISSING_CAPABILITY = -32602, -32021
BUS = InMemorySubscriptionBus()
HAS_MORE = {"tools": False, "prompts": False}


def model(kind, fields):
    return kind.model_validate(fields, by_name=False)


def text(said):
    return model(types.CallToolResult, {"content": [{"type": "text", "text": said}]})


def is_modern(cx):
    return cx.protocol_version >= "2026-07-28"


def ask(name, params, cx):
    """The next question, as of 2026-07-28; nothing when all are answered."""
    answers, state, rounds = params.input_responses or {}, params.request_state, KNOWN["rounds"][name]
    if name.endswith("_capabilities"):
        rounds = [answerable(rounds[0], cx.session.client_capabilities)]
    # A client repeats its request with the answers to the latest question only.
    answered = [index for index, asked in enumerate(rounds) if all(key in answers for key in asked)]
    following = max(answered, default=-1) + 1
    sealed = [f"{name}.{index}.{SEAL}" for index in range(len(rounds))]
    if name in KNOWN["stateful"] and following > 0 and state != sealed[following - 1]:
        raise MCPError(INVALID_PARAMS, "requestState is not one of ours")
    if following == len(rounds):
        return None
    asked = {"inputRequests": rounds[following]}
    if name in KNOWN["stateful"]:
        asked["requestState"] = sealed[following]
    return model(types.InputRequiredResult, asked)


def answerable(questions, abilities):
    """Those of the questions that the client says it can answer."""
    can = {"sampling/createMessage": abilities.sampling, "elicitation/create": abilities.elicitation}
    can["roots/list"] = abilities.roots
    return {key: question for key, question in questions.items() if can[question["method"]] is not None}


async def push(name, arguments, cx):
    """Asks the client with a request of our own, as servers do up to 2025-11-25."""
    if name == "test_sampling":
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
        answer = await cx.session.create_message([message], max_tokens=100, related_request_id=cx.request_id)
    else:
        question = arguments.get("message", "Fill in")
        answer = await cx.session.elicit_form(question, KNOWN["forms"][name], cx.request_id)
    return text(f"The answer was {answer.model_dump_json(by_alias=True, exclude_none=True)}")


async def log(cx):
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        await cx.session.send_log_message("info", said, related_request_id=cx.request_id)
        await asyncio.sleep(PAUSE)
    return text("Tool with logging executed successfully")


async def progress(cx):
    for step in (0, 50, 100):
        await cx.session.report_progress(step, 100)
        await asyncio.sleep(PAUSE)
    return text("Progress test completed")


async def change(what, event):
    HAS_MORE[what] = not HAS_MORE[what]
    await BUS.publish(event)
    return text("Changed.")


async def call_tool(cx, params):
    name, arguments = params.name, params.arguments or {}
    if name in KNOWN["results"]:
        return model(types.CallToolResult, KNOWN["results"][name])
    if name in KNOWN["rounds"]:
        return ask(name, params, cx) or text("All answers came.")
    if name in KNOWN["forms"] or name == "test_sampling":
        return await push(name, arguments, cx)
    if name in ("test_tool_with_logging", "test_logging_tool"):
        return await log(cx)
    if name == "test_tool_with_progress":
        return await progress(cx)
    if name == "test_missing_capability":
        if cx.session.client_capabilities is None or cx.session.client_capabilities.sampling is None:
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_CAPABILITY, "the client cannot sample", needed)
        return text("The client can sample.")
    if name == "test_trigger_tool_change":
        return await change("tools", ToolsListChanged())
    if name == "test_trigger_prompt_change":
        return await change("prompts", PromptsListChanged())
    if name == "test_reconnection":
        await asyncio.sleep(2 * PAUSE)
        return text("Reconnection test completed.")
    if name == "json_schema_2020_12_tool":
        return text(f"arguments: {json.dumps(arguments)}")
    raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")


async def get_prompt(cx, params):
    if params.name in KNOWN["rounds"]:
        said = {"role": "user", "content": {"type": "text", "text": "Use this context."}}
        return ask(params.name, params, cx) or model(types.GetPromptResult, {"messages": [said]})
    if params.name not in KNOWN["messages"]:
        raise MCPError(INVALID_PARAMS, f"no prompt '{params.name}'")
    filled = json.dumps(KNOWN["messages"][params.name])
    for name, value in (params.arguments or {}).items():
        filled = filled.replace("{" + name + "}", value)
    return model(types.GetPromptResult, json.loads(filled))


async def read_resource(cx, params):
    uri = str(params.uri)
    content = KNOWN["contents"].get(uri)
    if uri.startswith("test://template/") and uri.endswith("/data"):
        data = {"id": uri.split("/")[3], "templateTest": True, "data": f"Data for ID: {uri.split('/')[3]}"}
        content = {"mimeType": "application/json", "text": json.dumps(data)}
    if content is None:
        raise MCPError(INVALID_PARAMS if is_modern(cx) else -32002, "Resource not found", {"uri": uri})
    return model(types.ReadResourceResult, {"contents": [{"uri": uri, **content}]})


async def complete(cx, params):
    values = [value for value in KNOWN["completions"] if value.startswith(params.argument.value)]
    found = {"values": values, "total": len(values), "hasMore": False}
    return model(types.CompleteResult, {"completion": found})


def known(kind, field, name):
    async def listed(cx, params):
        more = [KNOWN["more"][name]] if HAS_MORE.get(name) else []
        return model(kind, {field: KNOWN[name] + more})

    return listed


async def nothing(cx, params):
    return types.EmptyResult()


server = Server(
    "python-fixture",
    version="1.0.0",
    on_list_tools=known(types.ListToolsResult, "tools", "tools"),
    on_call_tool=call_tool,
    on_list_prompts=known(types.ListPromptsResult, "prompts", "prompts"),
    on_get_prompt=get_prompt,
    on_list_resources=known(types.ListResourcesResult, "resources", "resources"),
    on_list_resource_templates=known(types.ListResourceTemplatesResult, "resourceTemplates", "templates"),
    on_read_resource=read_resource,
    on_subscribe_resource=nothing,
    on_unsubscribe_resource=nothing,
    on_subscriptions_listen=ListenHandler(BUS),
    on_completion=complete,
    on_set_logging_level=nothing,
)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
settings = uvicorn.Config(server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1)
uvicorn.Server(settings).run(sockets=[listener])
