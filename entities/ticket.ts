import { defineEntity, p } from '@mikro-orm/core';
import { AccessView, AccessViewUse } from './access-view.ts';
import { App } from './app.ts';
import { instant, uniqueIndex } from './columns.ts';
import { User } from './user.ts';
import { ViewAs } from './view-as.ts';

/**
 * A code that an app exchanges once for a ticket: for a logged-in user, for a use of an access view, or for a look of the user as another
 * person.
 */
export const LaunchCode = defineEntity({
  name: 'LaunchCode',
  tableName: 'launch_codes',
  checks: [
    {
      name: 'launch_codes_subject_check',
      expression: 'user_id is not null or access_view_use_id is not null',
    },
  ],
  properties: {
    /** SHA-256 of the code, 64 hexadecimal characters. */
    digest: p.string().length(64).primary().hidden(),
    app: () => p.manyToOne(App).index().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    accessViewUse: () =>
      p.manyToOne(AccessViewUse).nullable().index().deleteRule('cascade').updateRule('no action'),
    viewAs: () => p.manyToOne(ViewAs).nullable().index().deleteRule('cascade').updateRule('no action'),
    stackSlug: p.string().length(64).nullable(),
    /** How the user had logged in, as in `sessions`, and when. Null without a session. */
    methods: p.array().columnType('text[]').nullable(),
    authTime: instant().nullable(),
    /** The client to which the user's credential is confined. */
    confinedTo: p.integer().nullable(),
    expiresAt: instant().index(),
  },
});

/** What a key signs: tickets, or the tokens of OpenID Connect with one of its algorithms. */
export const KEY_PURPOSES = ['ticket', 'openid-es256', 'openid-rs256'] as const;
export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** A key pair that signs. Of each purpose, the newest one whose `signsFrom` has passed is used. */
export const SigningKey = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  properties: {
    /** `kid` of what it signs. */
    id: p.string().length(64).primary(),
    purpose: p.enum(KEY_PURPOSES).columnType('varchar(12)').default('ticket'),
    /** The private key as JWK, encrypted with the secret key of the service. */
    sealedKey: p.blob().hidden(),
    /** As JWK. */
    publicKey: p.json<Record<string, unknown>>().columnType('json'),
    createdAt: instant(),
    /** Later than its creation, so that every instance publishes the key before one of them signs with it. */
    signsFrom: instant(),
  },
});

/** Revokes the tickets that were issued before this time: the tickets of a view, of a user, of an app, or all if none is given. */
export const TicketRevocation = defineEntity({
  name: 'TicketRevocation',
  tableName: 'ticket_revocations',
  checks: [
    {
      name: 'ticket_revocations_subject_check',
      expression: 'num_nonnulls(access_view_id, user_id, app_id) <= 1',
    },
  ],
  indexes: [
    uniqueIndex(
      'ticket_revocations_subject',
      `ticket_revocations (coalesce(access_view_id, 0), coalesce(user_id, 0), coalesce(app_id, ''))`,
    ),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    accessView: () => p.manyToOne(AccessView).nullable().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).nullable().index().deleteRule('cascade').updateRule('no action'),
    revokedAt: instant(),
  },
});
