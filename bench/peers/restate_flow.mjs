// Steps per second of Restate, with one invocation and with 64: node restate_flow.mjs INGRESS ADMIN PORT STEPS
import * as restate from "@restatedev/restate-sdk";

const [ingress, admin, port, steps] = process.argv.slice(2);
const chain = restate.service({
  name: "bench",
  handlers: {
    chain: async (cx, count) => {
      for (let item = 0; item < count; item++) await cx.run(() => item);
      return count;
    },
  },
});
await restate.serve({ services: [chain], port: Number(port) });
const registered = await fetch(`${admin}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
});
if (!registered.ok) throw new Error(await registered.text());
const call = async (count) => {
  const reply = await fetch(`${ingress}/bench/chain`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(count),
  });
  if (!reply.ok) throw new Error(await reply.text());
};
for (const runs of [1, 64]) {
  const begun = performance.now();
  await Promise.all(Array.from({ length: runs }, () => call(Number(steps))));
  console.log(`restate ${runs} ${Math.round((runs * steps * 1000) / (performance.now() - begun))}`);
}
process.exit(0);
