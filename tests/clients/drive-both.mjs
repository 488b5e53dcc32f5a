// The official TypeScript SDK of both protocols: `node drive-both.mjs PLAN`, PLAN being JSON.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive } from './steps.mjs';

const plan = JSON.parse(process.argv[2]);
const isNewer = plan.protocol === '2026-07-28';
const mode = isNewer ? { pin: plan.protocol } : 'legacy';
const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers: plan.headers } })
  : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: 'inherit' });
await client.connect(transport);

const kit = {
  client,
  callTool: (params, options) => client.callTool(params, options),
  onUpdated: (tell) =>
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params.uri)),
  watch: async (uri) => {
    if (isNewer) {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return () => subscription.close();
    }
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
};
const steps = await drive(kit, plan);
if (!isNewer) await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify({ steps, protocol: client.getNegotiatedProtocolVersion() }));
