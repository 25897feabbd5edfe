import { RECENT_PASSWORD } from './auth.ts';
import type { DescriptionsOf } from './index.ts';

export const tickets: DescriptionsOf<'tickets'> = {
  exchange: [
    'Exchange a launch code for a ticket',
    'For the server of an app, which received `code` at its launch URL. A code works once, within 60 seconds, for the app with this slug.',
    ['invalid-launch-code', 'app-in-maintenance', 'throttled'],
  ],
  introspect: [
    'Check a ticket',
    'RFC 7662. Whether the ticket is valid, not revoked, and its owner may still open the app; if so, with its claims. Tickets for apps of other clients are not active for you.',
  ],
  revoke: [
    'Revoke tickets',
    'Those of an access view (its id, as in the ticket, or key), of a user (email address), or for an app (id) that were issued until now; superusers may revoke `all`. Launch codes and embedded pages end too. Name exactly one.',
    ['not-found', 'shared-user'],
  ],
};

export const signingKeys: DescriptionsOf<'signingKeys'> = {
  list: ['List the keys that sign tickets', 'Newest first, without the private keys.'],
  rotate: [
    'Replace the key that signs tickets',
    'The new key is published now and signs once every cache has it, after about six minutes. Until then, another call returns the same key.',
  ],
};

export const accessViews: DescriptionsOf<'accessViews'> = {
  list: [
    'List access views',
    'Of the apps that you manage, or for staff of all apps, newest first. `key` and `url` are empty for those who may not open the app with them. `?flags.{name}={value}` returns those whose `flags` have this value; several must all match. `cursor` is the id or key of the last access view of the previous page.',
    ['not-found'],
  ],
  get: [
    'Get an access view',
    'By its id or current key. Without its key and URL for those who may not open the app with them, who find it only by its id.',
  ],
  create: [
    'Create an access view',
    `Its \`url\` opens the app without a login, as often as \`allowed_uses_cnt\` says (0: any number). With a \`user\`, who must be able to open the app, the app opens as them. \`data_permissions\` replace those of the user. Accepts JSON and forms. ${RECENT_PASSWORD}`,
    ['forbidden', 'reauthentication-required'],
  ],
  update: [
    'Update an access view',
    `Omitted fields stay unchanged. The app and the user cannot be changed. Accepts JSON and forms. ${RECENT_PASSWORD} This is not needed to deactivate the view.`,
    ['forbidden', 'reauthentication-required'],
  ],
  deactivate: ['Deactivate an access view', 'It opens the app no longer. Nothing is removed.', ['forbidden']],
  embed: [
    'Get a URL that embeds an app once',
    'Of an app, by its id or slug, for a user who can open it. The URL works once, within 60 seconds; what it opens lasts for up to 12 hours. Each request makes another URL. Needs an API token: browser sessions are refused.',
    ['forbidden'],
  ],
  uses: [
    'List the uses of an access view',
    'By its id or current key. Newest first, each with what applied at that time.',
  ],
};
