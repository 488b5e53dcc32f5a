// The official TypeScript SDK of the older protocol: `node drive-older.mjs PLAN`, PLAN being JSON.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { drive } from './steps.mjs';

const plan = JSON.parse(process.argv[2]);
const client = new Client({ name: 'tests', version: '1' });
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } })
  : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: 'inherit' });
await client.connect(transport);

const kit = {
  client,
  callTool: (params, options) => client.callTool(params, undefined, options),
  onUpdated: (tell) =>
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => tell(params.uri)),
  watch: async (uri) => {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
};
const steps = await drive(kit, plan);
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ steps }));
