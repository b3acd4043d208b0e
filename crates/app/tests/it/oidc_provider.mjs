// A real OAuth2 provider with tokens that live two seconds, and an API that wants them.
// usage: node oidc_provider.mjs FOLDER-WITH-NODE_MODULES; prints its port and ends with its stdin.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const { default: Provider } = await import(
  pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/index.js`)
);

const client = (id, method) => ({
  client_id: id,
  client_secret: 'a secret: 100% /odd+?&=',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: method,
});

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const { port } = server.address();

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client('basic', 'client_secret_basic'), client('post', 'client_secret_post')],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  scopes: ['orders'],
  ttl: { ClientCredentials: 2 },
});
let granted = 0;
provider.on('grant.success', () => { granted += 1; });

const answer = (response, status, body) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
const forward = provider.callback();
server.on('request', async (request, response) => {
  if (!request.url.startsWith('/api/')) return forward(request, response);
  const [, value] = (request.headers.authorization ?? '').split('Bearer ');
  const token = value && (await provider.ClientCredentials.find(value));
  if (!token?.isValid) return answer(response, 401, { error: 'a valid token is needed' });
  return answer(response, 200, { client: token.clientId, scope: token.scope ?? null, granted });
});

console.log(port);
process.stdin.on('close', () => process.exit(0)).resume();
