// The services of loyalty.proto on gRPC's own library for Node, with reflection v1 and v1alpha, without health.
//
// Usage: server.cjs FOLDER; writes its port into FOLDER/port.
const fs = require('fs');
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const { ReflectionService } = require('@grpc/reflection');

const folder = process.argv[2];
const definition = loader.loadSync('loyalty.proto', { includeDirs: [__dirname], keepCase: true, longs: String, enums: String, oneofs: true });
const { loyalty } = grpc.loadPackageDefinition(definition);

const customers = [
  { id: '1', display_name: 'Ada', tier: 'TIER_GOLD' },
  { id: '9007199254740993', display_name: 'Zoë', tier: 'TIER_SILVER' },
];

const server = new grpc.Server();
server.addService(loyalty.v1.Customers.service, {
  List: (call, answer) => answer(null, { customers: customers.slice(0, call.request.page_size || undefined) }),
  Get: (call, answer) => {
    const found = customers.find((customer) => customer.id === call.request.id);
    if (found) return answer(null, found);
    answer({ code: grpc.status.NOT_FOUND, details: `there is no customer ${call.request.id}` });
  },
  Create: (call, answer) => answer(null, call.request),
  Watch: async (call) => {
    for (let number = 1; number <= call.request.count && !call.cancelled; number++) {
      call.write({ number: String(number), customer: customers[0] });
      if (call.request.pause_ms) await new Promise((resolve) => setTimeout(resolve, call.request.pause_ms));
    }
    if (call.request.fail) call.emit('error', { code: grpc.status.INTERNAL, details: 'it broke' });
    else call.end();
  },
  Upload: (call, answer) => call.on('data', () => {}).on('end', () => answer(null, { customers: [] })),
  Echo: (call, answer) => answer(null, call.request),
  Fail: (call, answer) => answer({ code: call.request.code, details: call.request.message }),
  Metadata: (call, answer) => {
    const metadata = {};
    for (const [key, values] of Object.entries(call.metadata.toJSON())) {
      metadata[key] = Buffer.isBuffer(values[0]) ? values[0].toString('hex') : String(values[0]);
    }
    answer(null, { metadata, left_ms: String(call.getDeadline() - Date.now()) });
  },
  Upper: (call, answer) => answer(null, { value: call.request.value.toUpperCase() }),
});
new ReflectionService(definition).addToServer(server);
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  fs.writeFileSync(path.join(folder, 'port.new'), String(port));
  fs.renameSync(path.join(folder, 'port.new'), path.join(folder, 'port'));
});
