import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { Client } from './client.ts';
import { index, instant } from './columns.ts';
import { User } from './user.ts';

/** A look at an app as another person, read-only, by one session of the actor. Only the SHA-256 digests of its secrets are stored. */
export const ViewAs = defineEntity({
  name: 'ViewAs',
  tableName: 'view_as',
  indexes: [
    index('view_as_running', 'view_as (ends_at) where ended_at is null'),
    { properties: ['user', 'id'] },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    actor: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** The person as whom the actor sees the app. */
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).index().deleteRule('cascade').updateRule('no action'),
    client: () => p.manyToOne(Client).index().deleteRule('cascade').updateRule('no action'),
    /** The session that began it. No foreign key: the look ends with the session, and its row stays. */
    sessionId: p.bigint('number'),
    reason: p.string().length(500),
    /** Of the secret in its URL. */
    linkDigest: p.string().length(64).unique().hidden(),
    /** Of the cookie; null until the URL is opened. */
    cookieDigest: p.string().length(64).unique().nullable().hidden(),
    begunAt: instant(),
    endsAt: instant(),
    /** Null while it runs, and until its end by the clock is recorded. */
    endedAt: instant().nullable(),
  },
});
