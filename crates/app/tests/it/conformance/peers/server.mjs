// The conformance fixture on the TypeScript SDK, as its users write servers: it speaks both eras, with sessions in
// the older one, and asks its client as each of them does. `node server.mjs PACKAGES` takes a free port; the URL is
// the first line on stdout.

import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

// This file stands in no folder of packages, so they are looked for where they are installed.
const packages = createRequire(pathToFileURL(`${process.argv[2]}/`));
const {
    Server, ProtocolError, WebStandardStreamableHTTPServerTransport, createMcpHandler, hostHeaderValidationResponse,
    isLegacyRequest, localhostAllowedHostnames, localhostAllowedOrigins, originValidationResponse,
} = packages('@modelcontextprotocol/server');

const known = JSON.parse(readFileSync(new URL('definitions.json', import.meta.url), 'utf8'));
const secret = randomUUID();
const INVALID_PARAMS = -32602;
const MISSING_CAPABILITY = -32021;

const hasMore = { tools: false, prompts: false };
const all = (what) => (hasMore[what] ? [...known[what], known.more[what]] : known[what]);

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const seal = (state) => `${state}.${createHash('sha256').update(secret + state).digest('hex')}`;

/** The next question, as of 2026-07-28; nothing when all are answered. */
function ask(name, cx) {
    const isStateful = known.stateful.includes(name);
    const answers = cx.mcpReq.inputResponses ?? {};
    let rounds = known.rounds[name];
    if (name.endsWith('_capabilities')) rounds = [answerable(rounds[0], cx)];
    // A client repeats its request with the answers to the latest question only.
    const following = rounds.findLastIndex((asked) => Object.keys(asked).every((key) => key in answers)) + 1;
    if (isStateful && following > 0 && cx.mcpReq.requestState() !== seal(`${name}.${following - 1}`)) {
        throw new ProtocolError(INVALID_PARAMS, 'requestState is not one of ours');
    }
    if (following === rounds.length) return undefined;
    const asked = { resultType: 'input_required', inputRequests: rounds[following] };
    return isStateful ? { ...asked, requestState: seal(`${name}.${following}`) } : asked;
}

function abilities(cx) {
    return cx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
}

/** Those of the questions that the client says it can answer. */
function answerable(questions, cx) {
    const { sampling, elicitation, roots } = abilities(cx);
    const can = { 'sampling/createMessage': sampling, 'elicitation/create': elicitation, 'roots/list': roots };
    return Object.fromEntries(Object.entries(questions).filter(([, question]) => can[question.method]));
}

/** Asks the client with a request of our own, as servers do up to 2025-11-25, on the stream of its call. */
async function push(name, args, cx) {
    const message = { role: 'user', content: { type: 'text', text: args.prompt } };
    const form = { mode: 'form', message: args.message ?? 'Fill in', requestedSchema: known.forms[name] };
    const answer = name === 'test_sampling'
        ? await cx.mcpReq.send({ method: 'sampling/createMessage', params: { messages: [message], maxTokens: 100 } })
        : await cx.mcpReq.send({ method: 'elicitation/create', params: form });
    return text(`The answer was ${JSON.stringify(answer)}`);
}

async function log(cx) {
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await cx.mcpReq.log('info', said);
        await pause();
    }
    return text('Tool with logging executed successfully');
}

async function progress(cx) {
    const progressToken = cx.mcpReq._meta?.progressToken;
    for (const step of [0, 50, 100]) {
        const params = { progressToken, progress: step, total: 100 };
        if (progressToken !== undefined) await cx.mcpReq.notify({ method: 'notifications/progress', params });
        await pause();
    }
    return text('Progress test completed');
}

async function callTool({ params: { name, arguments: args = {} } }, cx) {
    if (known.results[name]) return known.results[name];
    if (known.rounds[name]) return ask(name, cx) ?? text('All answers came.');
    if (known.forms[name] || name === 'test_sampling') return push(name, args, cx);
    switch (name) {
        case 'test_tool_with_logging':
        case 'test_logging_tool':
            return log(cx);
        case 'test_tool_with_progress':
            return progress(cx);
        case 'test_missing_capability':
            if (!abilities(cx).sampling) {
                const requiredCapabilities = { sampling: {} };
                throw new ProtocolError(MISSING_CAPABILITY, 'the client cannot sample', { requiredCapabilities });
            }
            return text('The client can sample.');
        case 'test_trigger_tool_change':
            hasMore.tools = !hasMore.tools;
            modern.notify.toolsChanged();
            return text('Changed.');
        case 'test_trigger_prompt_change':
            hasMore.prompts = !hasMore.prompts;
            modern.notify.promptsChanged();
            return text('Changed.');
        case 'test_reconnection':
            await pause();
            return text('Reconnection test completed.');
        case 'json_schema_2020_12_tool':
            return text(`arguments: ${JSON.stringify(args)}`);
        default:
            throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
    }
}

function getPrompt({ params: { name, arguments: args = {} } }, cx) {
    if (known.rounds[name]) {
        const said = { role: 'user', content: { type: 'text', text: 'Use this context.' } };
        return ask(name, cx) ?? { messages: [said] };
    }
    if (!known.messages[name]) throw new ProtocolError(INVALID_PARAMS, `no prompt '${name}'`);
    const filled = JSON.stringify(known.messages[name]);
    return JSON.parse(filled.replace(/\{(\w+)\}/g, (whole, argument) => args[argument] ?? whole));
}

function readResource({ params: { uri } }, era) {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    const content = id ? { mimeType: 'application/json', text: data } : known.contents[uri];
    if (!content) {
        throw new ProtocolError(era === 'modern' ? INVALID_PARAMS : -32002, 'Resource not found', { uri });
    }
    return { contents: [{ uri, ...content }] };
}

function complete({ params: { argument } }) {
    const values = known.completions.filter((value) => value.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
}

function fixture({ era }) {
    const capabilities = {
        tools: { listChanged: true }, prompts: { listChanged: true }, completions: {}, logging: {},
        resources: { listChanged: true, subscribe: true },
    };
    const server = new Server({ name: 'typescript-fixture', version: '1.0.0' }, { capabilities });
    server.setRequestHandler('tools/list', () => ({ tools: all('tools') }));
    server.setRequestHandler('tools/call', callTool);
    server.setRequestHandler('prompts/list', () => ({ prompts: all('prompts') }));
    server.setRequestHandler('prompts/get', getPrompt);
    server.setRequestHandler('resources/list', () => ({ resources: known.resources }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: known.templates }));
    server.setRequestHandler('resources/read', (request) => readResource(request, era));
    server.setRequestHandler('resources/subscribe', () => ({}));
    server.setRequestHandler('resources/unsubscribe', () => ({}));
    server.setRequestHandler('completion/complete', complete);
    return server;
}

const modern = createMcpHandler(fixture, { legacy: 'reject' });
const sessions = new Map();

/** The older versions, with a session for each client. */
async function legacy(request, parsedBody) {
    const id = request.headers.get('mcp-session-id');
    if (id && !sessions.has(id)) return new Response('no such session', { status: 404 });
    if (id) return sessions.get(id).handleRequest(request, { parsedBody });
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, transport),
        onsessionclosed: (session) => void sessions.delete(session),
    });
    await fixture({ era: 'legacy' }).connect(transport);
    return transport.handleRequest(request, { parsedBody });
}

async function answer(request, parsedBody) {
    const refused = hostHeaderValidationResponse(request, localhostAllowedHostnames())
        ?? originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    const isLegacy = await isLegacyRequest(request, parsedBody);
    return isLegacy ? legacy(request, parsedBody) : modern.fetch(request, { parsedBody });
}

/** What was sent, where it is JSON. */
function parse(body) {
    try {
        return JSON.parse(body);
    } catch {
        return undefined;
    }
}

const listener = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const body = incoming.method === 'POST' ? Buffer.concat(await incoming.toArray()) : undefined;
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method, headers: Object.entries(incoming.headers), signal: gone.signal, body,
    });
    const response = await answer(request, body && parse(body));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    if (!response.body) return outgoing.end();
    Readable.fromWeb(response.body).on('error', () => outgoing.destroy()).pipe(outgoing);
});
listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
