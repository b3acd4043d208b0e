// Two tenants at work, who note what was acknowledged; and the check that it is there, once and for nobody else.
import * as world from "./world.mjs";

const FLOWS = {
  chain: "inputs: {id: string}\nnodes:\n  first: {exec: 'api://shop/ship', args: {text: 'first-${id}'}, retry: {attempts: 20, delay: 1s, on: any}, next: last}\n  last: {exec: 'api://shop/ship', args: {text: 'last-${id}'}, retry: {attempts: 20, delay: 1s, on: any}, with: \"'done'\"}\noutput: ${last}\n",
  once: "inputs: {id: string}\nnodes:\n  send: {exec: 'api://shop/ship', args: {text: 'once-${id}'}, delivery: at_most_once, fail: lost}\n  lost: {with: send.error.code}\n",
};
const ENDED = ["succeeded", "failed", "cancelled"];
/** What a killed process may lose of its audit: records are written every 50 ms, and a busy disk takes its time. */
const LOST_MS = 1_500;

/** What each of the two has; their APIs answer with their names. */
export const tenants = (service) => ["ada", "bob"].map((id) => ({ id, service }));

export class Load {
  constructor(cluster, tenants) {
    Object.assign(this, { cluster, tenants, refused: 0, number: 0, isOver: false, crossed: [] });
    this.acknowledged = { tables: [], calls: [], messages: [], runs: [], once: [] };
  }

  async start() {
    const [gateway] = this.cluster.gateways;
    for (const tenant of this.tenants) {
      await gateway.must("POST", "tenants", { id: tenant.id });
      await gateway.must("PATCH", `tenants/${tenant.id}`, { allow_private_network: true }).catch(() => {});
      const made = await gateway.must("POST", "keys", { name: tenant.id, tenant: tenant.id, role: "admin" });
      tenant.key = made.key;
      await this.furnish(gateway, tenant);
    }
    this.workers = this.tenants.flatMap((tenant) => [this.work(tenant), this.work(tenant)]);
    return this;
  }

  /** The services and flows of one tenant. */
  async furnish(gateway, { id, key, service }) {
    const parameters = [{ name: "text", parameter_type: "String", position: "body" }];
    const config = { base_url: `${this.cluster.apiUrl}/${id}`, retry: { max_attempts: 1 }, allow_private_network: true };
    const api = { type: "api", id: "shop", config, tools: [{ id: "ship", method: "POST", endpoint: "/ship", parameters }] };
    const queue = { type: "mq", id: "orders", config: {}, tools: [{ id: "placed", receive: true }] };
    for (const made of [api, queue, { type: "mcp", id: "near", config: service }]) await gateway.must("POST", "services", made, key);
    for (const [flow, source] of Object.entries(FLOWS)) {
      await gateway.must("POST", "flows", { id: flow, source }, key);
      await gateway.must("POST", `flows/${flow}/publish`, {}, key);
    }
  }

  async stop() {
    this.isOver = true;
    await Promise.all(this.workers);
  }

  async work(tenant) {
    const kinds = ["tables", "calls", "messages", "runs", "once", "near"];
    while (!this.isOver) {
      const number = this.number++;
      const gateway = this.cluster.gateways[number % this.cluster.gateways.length];
      const kind = kinds[number % kinds.length];
      const id = `${tenant.id}-${number}`;
      try {
        await this[kind](gateway, tenant, id);
      } catch {
        this.refused += 1; // nobody answered
        await world.sleep(100);
      }
    }
  }

  /** Notes what was acknowledged, and that an answer is its caller's own. */
  note(kind, reply, entry) {
    if (reply.status >= 300 || reply.isError) return (this.refused += 1);
    this.acknowledged[kind].push({ ...entry, at: Date.now() });
    return undefined;
  }

  async tables(gateway, tenant, id) {
    const reply = await gateway.rest("POST", "tables", { name: id, data: { of: id } }, tenant.key, 15_000);
    this.note("tables", reply, { id, tenant, table: reply.id });
  }

  async calls(gateway, tenant, id) {
    const reply = await gateway.call("api://shop/ship", { text: `call-${id}` }, tenant.key, 15_000);
    this.look(tenant, reply);
    this.note("calls", reply, { id, tenant });
  }

  async near(gateway, tenant, id) {
    const reply = await gateway.call("mcp://near/echo", { text: `near-${id}` }, tenant.key, 15_000);
    this.look(tenant, reply);
    if (reply.status >= 300 || reply.isError) this.refused += 1;
  }

  async messages(gateway, tenant, id) {
    const reply = await gateway.call("mq://orders/placed", { message: { order: id }, messageId: id }, tenant.key, 15_000);
    this.note("messages", reply, { id, tenant });
  }

  runs(gateway, tenant, id) {
    return this.begin("runs", "chain", gateway, tenant, id);
  }

  once(gateway, tenant, id) {
    return this.begin("once", "once", gateway, tenant, id);
  }

  async begin(kind, flow, gateway, tenant, id) {
    const reply = await gateway.rest("POST", `flows/${flow}/runs`, { inputs: { id } }, tenant.key, 15_000);
    this.note(kind, reply, { id, tenant, run: reply.id });
  }

  /** An answer names nobody else. */
  look(tenant, reply) {
    const other = this.tenants.find(({ id }) => id !== tenant.id);
    const text = JSON.stringify(reply);
    if (text.includes(`${other.id}-`) || text.includes(`/${other.id}/`)) this.crossed.push(`${tenant.id} was answered ${text.slice(0, 300)}`);
  }
}

/** Everything that does not hold. */
export async function check(cluster, load) {
  const [gateway] = cluster.gateways;
  await world.eventually("all are ready again", async () => (await Promise.all(cluster.gateways.map((one) => one.isReady()))).every(Boolean));
  const violations = [...load.crossed];
  const { tables, runs, once } = load.acknowledged;
  for (const { id, tenant, table } of tables) {
    const there = await gateway.rest("GET", `tables/${table}/data`, undefined, tenant.key);
    if (!JSON.stringify(there).includes(id)) violations.push(`table ${id} is lost: ${JSON.stringify(there).slice(0, 200)}`);
    const other = load.tenants.find((one) => one.id !== tenant.id);
    const seen = await gateway.rest("GET", `tables/${table}/data`, undefined, other.key);
    if (seen.status < 400) violations.push(`table ${id} of ${tenant.id} is shown to ${other.id}`);
  }
  for (const entry of [...runs, ...once]) violations.push(...(await checkRun(gateway, entry)));
  violations.push(...checkCounts(cluster, load), ...(await checkMessages(gateway, load)));
  for (const tenant of load.tenants) violations.push(...(await checkAudit(cluster, load, tenant)));
  return violations;
}

/** Every run comes to an end, and those that may repeat themselves to a good one. */
async function checkRun(gateway, { id, tenant, run }) {
  let view;
  const hasEnded = async () => ENDED.includes((view = await gateway.rest("GET", `runs/${run}`, undefined, tenant.key)).state);
  await world.eventually(`run ${id}`, hasEnded, 120_000).catch(() => {});
  if (!ENDED.includes(view?.state)) return [`run ${id} has no end: ${JSON.stringify(view).slice(0, 300)}`];
  return [];
}

/** What may be done at most once was; what succeeded was done at all. */
function checkCounts(cluster, load) {
  const count = ({ tenant }, text) => cluster.upstream.counts.get(`/${tenant.id}/ship ${JSON.stringify({ text })}`) ?? 0;
  const twice = load.acknowledged.once.filter((entry) => count(entry, `once-${entry.id}`) > 1);
  const never = load.acknowledged.runs.filter((entry) => count(entry, `last-${entry.id}`) === 0);
  const unsent = load.acknowledged.calls.filter((entry) => count(entry, `call-${entry.id}`) === 0);
  return [
    ...twice.map(({ id }) => `at_most_once of ${id} was done ${count(load.acknowledged.once.find((one) => one.id === id), `once-${id}`)} times`),
    ...never.map(({ id }) => `run ${id} did not do its work`),
    ...unsent.map(({ id }) => `call ${id} was answered and not made`),
  ];
}

/** Every message that was taken is in the queue, once. */
async function checkMessages(gateway, load) {
  const found = new Map();
  for (const tenant of load.tenants) {
    for (;;) {
      const reply = await gateway.call("mq://orders/placed_receive", { max: 100 }, tenant.key);
      const messages = reply.structuredContent?.messages ?? [];
      if (messages.length === 0) break;
      for (const { message } of messages) found.set(message.order, (found.get(message.order) ?? 0) + 1);
    }
  }
  const lost = load.acknowledged.messages.filter(({ id }) => !found.has(id)).map(({ id }) => `message ${id} is lost`);
  const doubled = [...found].filter(([, count]) => count > 1).map(([id, count]) => `message ${id} came ${count} times`);
  return [...lost, ...doubled];
}

/** Every answered call is on record, but for the last moment of a process that was killed; and nobody sees others' records. */
async function checkAudit(cluster, load, tenant) {
  const [gateway] = cluster.gateways;
  let known = "";
  for (let page = 1; ; page++) {
    const reply = await gateway.rest("GET", `audit?service=shop&limit=1000&page=${page}`, undefined, tenant.key);
    known += JSON.stringify(reply.items ?? reply);
    if ((reply.items ?? []).length < 1000) break;
  }
  const own = load.acknowledged.calls.filter((call) => call.tenant === tenant);
  const isExcused = ({ at }) => cluster.killed.some((killed) => at <= killed && killed - at < LOST_MS);
  const before = ({ at }) => Math.min(...cluster.killed.filter((killed) => killed >= at).map((killed) => killed - at));
  const lost = own.filter((call) => !known.includes(`call-${call.id}"`) && !isExcused(call));
  const other = load.tenants.find(({ id }) => id !== tenant.id);
  const crossed = known.includes(`call-${other.id}-`) ? [`${tenant.id} sees records of ${other.id}`] : [];
  return [...lost.map((call) => `call ${call.id}, answered ${before(call)} ms before the next kill, is not in the audit`), ...crossed];
}
