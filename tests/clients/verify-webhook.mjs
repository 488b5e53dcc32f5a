// Whether the library of Standard Webhooks takes a message, which stands on stdin with its secret, headers and body.

import { text } from 'node:stream/consumers';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

const { secret, headers, body } = JSON.parse(await text(process.stdin));
try {
  new Webhook(secret).verify(body, headers);
  console.log('genuine');
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  console.log('forged');
}
