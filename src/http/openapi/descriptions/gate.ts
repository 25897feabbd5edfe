import type { DescriptionsOf } from './index.ts';

export const tickets: DescriptionsOf<'tickets'> = {
  exchange: [
    'Exchange a launch code for a ticket',
    'For the server of an app, which received `code` at its launch address. A code works once, within 60 seconds, for the app with this slug.',
    ['invalid-launch-code', 'app-in-maintenance', 'throttled'],
  ],
  introspect: [
    'Check a ticket',
    'RFC 7662. Whether the ticket is valid, not revoked, and its owner may still open the app; if so, with its claims. Tickets for apps of other clients are not active for you.',
  ],
  revoke: [
    'Revoke tickets',
    'Those of an access view (its key), of a user (email address), or for an app (id) that were issued until now; superusers may revoke `all`. Launch codes and embedded pages end too. Name exactly one.',
    ['not-found'],
  ],
};

export const signingKeys: DescriptionsOf<'signingKeys'> = {
  list: ['List the keys that sign tickets', 'Newest first, without the private keys.'],
  rotate: [
    'Replace the key that signs tickets',
    'The new key is published now and signs once every cache has it, after about six minutes. Until then, another call returns the same key.',
  ],
};
