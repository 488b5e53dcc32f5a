"""Whether the library of Standard Webhooks takes a message, which stands on stdin with its secret, headers and body."""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

message = json.load(sys.stdin)
try:
    Webhook(message["secret"]).verify(message["body"], message["headers"])
    print("genuine")
except WebhookVerificationError:
    print("forged")
