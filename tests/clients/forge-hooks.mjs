// GitHub's example webhooks of these events, signed by its own library: `node forge-hooks.mjs SECRET`
// prints one JSON object a line, with the body as it is signed.

import { Webhooks } from '@octokit/webhooks';
import examples from '@octokit/webhooks-examples' with { type: 'json' };

const events = ['push', 'create', 'delete', 'pull_request', 'ping', 'merge_group'];
const webhooks = new Webhooks({ secret: process.argv[2] });

for (const { name: event, examples: payloads } of examples) {
  if (!events.includes(event)) continue;
  for (const payload of payloads) {
    const body = JSON.stringify(payload);
    console.log(JSON.stringify({ event, body, signature: await webhooks.sign(body) }));
  }
}
