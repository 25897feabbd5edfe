import { timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { isPrivate } from '../../lib/guarded-fetch.ts';
import { newSecret } from '../../lib/ids.ts';
import { invalid, notFound } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession, requireIn } from '../access/actor.ts';
import { endOpenidLogins } from '../accounts/access-ends.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { diffColumns, isEmpty, ofApp } from '../audit/audit.ts';
import { tokenDigest } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The claims that an app may get about a person. It always gets how they have logged in, and who acts as them. */
export const OPENID_CLAIMS = [
  'email',
  'email_verified',
  'name',
  'given_name',
  'family_name',
  'groups',
  'roles',
  'app_roles',
  'client',
  'data_permissions',
] as const;

export const SIGNING_ALGORITHMS = ['RS256', 'ES256'] as const;

export type OpenidSettings = {
  redirect_uris: readonly string[];
  post_logout_redirect_uris: readonly string[];
  backchannel_logout_uri: string;
  is_public: boolean;
  /** A public app needs PKCE in any case. */
  requires_pkce: boolean;
  claims: readonly (typeof OPENID_CLAIMS)[number][];
  is_pairwise: boolean;
  signing_algorithm: (typeof SIGNING_ALGORITHMS)[number];
};

/** Settings as the table has them. */
type Stated = { [K in keyof OpenidSettings]?: unknown };

/** How long the previous secret works after a new one was made. */
const ROTATION_MS = DAY_MS;

const SETTINGS = [
  'redirect_uris',
  'post_logout_redirect_uris',
  'backchannel_logout_uri',
  'is_public',
  'requires_pkce',
  'claims',
  'is_pairwise',
  'signing_algorithm',
] as const;

/** How apps log people in with OpenID Connect. */
export const createOpenidApps = ({ em, clock, audit, baseUrl, webhookPrivateNetworks }: UnitOfWork) => {
  const viewOf = (row: OpenidAppRow) => {
    const until = row.previous_until;
    return {
      client_id: row.app_id,
      issuer: baseUrl,
      redirect_uris: row.redirect_uris,
      post_logout_redirect_uris: row.post_logout_redirect_uris,
      backchannel_logout_uri: row.backchannel_logout_uri,
      is_public: row.is_public,
      requires_pkce: row.requires_pkce,
      claims: row.claims,
      is_pairwise: row.is_pairwise,
      signing_algorithm: row.signing_algorithm,
      has_secret: row.secret_digest !== null,
      previous_until: until !== null && until > clock.now() ? until : null,
      created_at: row.created_at,
    };
  };
  const read = (tx: Em, appId: string) =>
    openidApps(tx)
      .where('app_id', '=', appId)
      .executeTakeFirstOrThrow(() => notFound('OpenID settings'));

  /** Locks the app, so that changes of its settings run one after another. */
  const lock = async (tx: Em, actor: Actor, appId: string) => {
    const app = await requireViewableApp(tx, actor, clock.now(), appId);
    requireIn(actor, 'manage-apps', app.client_id);
    requireConfirmedSession(actor, clock.now());
    await kysely(tx).selectFrom('apps').select('id').where('id', '=', app.id).forNoKeyUpdate().execute();
    return { app, about: { actor, target: ofApp(app), clients: [app.client_id] } };
  };

  return {
    /** @throws Problem `not-found`, `forbidden` */
    get: async (actor: Actor, appId: string) => {
      const { id } = await requireViewableApp(em, actor, clock.now(), appId);
      return viewOf(await read(em, id));
    },

    /**
     * Sets how the app logs people in. A public app has no secret.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `redirect_uris`,
     * `backchannel_logout_uri`
     */
    set: (actor: Actor, appId: string, settings: OpenidSettings) =>
      em.transactional(async (tx) => {
        const { app, about } = await lock(tx, actor, appId);
        requireConsistent(settings);
        requireReachable(settings.backchannel_logout_uri, webhookPrivateNetworks);
        const before = await openidApps(tx).where('app_id', '=', app.id).executeTakeFirst();
        const values = {
          ...settings,
          requires_pkce: settings.requires_pkce || settings.is_public,
          redirect_uris: [...settings.redirect_uris],
          post_logout_redirect_uris: [...settings.post_logout_redirect_uris],
          claims: [...settings.claims],
        };
        const secrets = settings.is_public ? NO_SECRETS : {};
        await kysely(tx)
          .insertInto('openid_apps')
          .values({ app_id: app.id, ...values, created_at: clock.now() })
          .onConflict((conflict) => conflict.column('app_id').doUpdateSet({ ...values, ...secrets }))
          .execute();
        await kysely(tx)
          .updateTable('openid_logins')
          .set({
            backchannel_logout_uri: settings.backchannel_logout_uri,
            signing_algorithm: settings.signing_algorithm,
          })
          .where('app_id', '=', app.id)
          .where('ended_at', 'is', null)
          .execute();
        // A login must not change the name of its person.
        if (before && before.is_pairwise !== settings.is_pairwise)
          await endOpenidLogins(tx, sql`app_id = ${app.id}`);
        const changes = diffColumns<Stated>(before ?? {}, values, SETTINGS);
        if (!isEmpty(changes))
          await audit.record(tx, [{ action: 'app.set-openid', ...about, details: changes }]);
        return viewOf(await read(tx, app.id));
      }),

    /**
     * Makes a new secret. The previous one works for another day.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` for a public app
     */
    addSecret: (actor: Actor, appId: string) =>
      em.transactional(async (tx) => {
        const { app, about } = await lock(tx, actor, appId);
        const { is_public, secret_digest: previous } = await read(tx, app.id);
        if (is_public) throw invalid({ is_public: ['A public app has no secret.'] });
        const secret = newSecret();
        const previousUntil = previous === null ? null : new Date(clock.now().getTime() + ROTATION_MS);
        await kysely(tx)
          .updateTable('openid_apps')
          .set({
            secret_digest: tokenDigest(secret),
            previous_digest: previous,
            previous_until: previousUntil,
          })
          .where('app_id', '=', app.id)
          .execute();
        await audit.record(tx, [{ action: 'app.add-openid-secret', ...about }]);
        return { secret, previous_until: previousUntil };
      }),

    /**
     * Removes the settings: all logins to the app end, and it is notified of each.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`
     */
    remove: (actor: Actor, appId: string): Promise<void> =>
      em.transactional(async (tx) => {
        const { app, about } = await lock(tx, actor, appId);
        await read(tx, app.id);
        await endOpenidLogins(tx, sql`app_id = ${app.id}`);
        await kysely(tx).deleteFrom('openid_apps').where('app_id', '=', app.id).execute();
        await audit.record(tx, [{ action: 'app.remove-openid', ...about }]);
      }),

    /**
     * The logouts that are sent to the app, by login, the newest first. They are kept for seven days.
     * @throws Problem `not-found`, `forbidden`
     */
    logouts: async (actor: Actor, appId: string, page: CursorPageRequest) => {
      const { id } = await requireViewableApp(em, actor, clock.now(), appId);
      const rows = kysely(em)
        .selectFrom('openid_logins')
        .leftJoin('memberships as m', (join) =>
          join
            .onRef('m.user_id', '=', 'openid_logins.user_id')
            .onRef('m.client_id', '=', 'openid_logins.client_id'),
        )
        .leftJoin('users', 'users.id', 'm.user_id')
        .select([
          'openid_logins.id',
          'subject',
          'users.email',
          'started_at',
          'openid_logins.ended_at',
          'attempts',
        ])
        .select(['next_attempt_at', 'delivered_at', 'failed_at', 'status as response_status', 'error'])
        .where('app_id', '=', id)
        .where('openid_logins.ended_at', 'is not', null)
        .where(condition`coalesce(next_attempt_at, delivered_at, failed_at) is not null`)
        .$narrowType<{ ended_at: Date }>()
        .orderBy('openid_logins.id', 'desc');
      return readPage(afterCursor(rows, 'openid_logins.id', page.cursor, 'desc'), 'openid_logins.id', page);
    },

    /** What the protocol knows of an app; null without settings. */
    find: async (appId: string) => {
      const row = await openidApps(em)
        .innerJoin('apps', 'apps.id', 'app_id')
        .select('apps.label')
        .where('app_id', '=', appId)
        .executeTakeFirst();
      return row ? { ...row, isNative: isNative(row) } : null;
    },

    /** Whether it is a secret of the app: the newest one, or the one before while it still works. */
    isSecret: async (appId: string, secret: string): Promise<boolean> => {
      const row = await openidApps(em).where('app_id', '=', appId).executeTakeFirst();
      const sent = Buffer.from(tokenDigest(secret));
      return (
        row !== undefined &&
        validDigests(row, clock.now()).some((digest) => timingSafeEqual(Buffer.from(digest), sent))
      );
    },

    /** Whether any app of the installation logs people in with OpenID Connect, or did so in the last days. */
    exist: async (): Promise<boolean> => {
      const { rows } = await sql`
        select where exists (select from openid_apps) or exists (select from openid_logins)`.execute(
        kysely(em),
      );
      return rows.length > 0;
    },
  };
};

const NO_SECRETS = { secret_digest: null, previous_digest: null, previous_until: null };

const openidApps = (em: Em) =>
  kysely(em)
    .selectFrom('openid_apps')
    .select(['app_id', ...SETTINGS, 'secret_digest', 'previous_digest', 'previous_until'])
    .select('openid_apps.created_at');

type OpenidAppRow = Awaited<ReturnType<ReturnType<typeof openidApps>['execute']>>[number];

const validDigests = (row: OpenidAppRow, now: Date): string[] => {
  const isRotating = row.previous_until !== null && row.previous_until > now;
  return [row.secret_digest, isRotating ? row.previous_digest : null].filter((digest) => digest !== null);
};

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

type Addresses = {
  redirect_uris: readonly string[];
  post_logout_redirect_uris: readonly string[];
  is_public: boolean;
};

const urlsOf = (app: Addresses): URL[] =>
  [...app.redirect_uris, ...app.post_logout_redirect_uris].map((uri) => new URL(uri));

/** Whether the app runs on the person's device (RFC 8252): then any port of a loopback address is its own. */
const isNative = (app: Addresses): boolean =>
  app.is_public &&
  urlsOf(app).every(({ protocol, hostname }) => (protocol === 'http:') === LOOPBACK.includes(hostname));

/** @throws Problem `invalid-input` on `redirect_uris` */
const requireConsistent = (app: OpenidSettings): void => {
  const refuse = (message: string) => invalid({ redirect_uris: [message] });
  const hasOwnScheme = urlsOf(app).some(({ protocol }) => !/^https?:$/.test(protocol));
  if (hasOwnScheme && !app.is_public)
    throw refuse('Only a public app may have an address that does not begin with https:// or http://.');
  if (hasOwnScheme && !isNative(app))
    throw refuse(
      'Beside an address with another scheme, http:// is only for the device itself: 127.0.0.1, [::1] or localhost.',
    );
  // Pairwise identifiers are made per host (OpenID Connect Core §8.1).
  const hosts = new Set(app.redirect_uris.map((uri) => new URL(uri).host));
  if (app.is_pairwise && hosts.size > 1)
    throw refuse('With pairwise subjects, all addresses must be of one host.');
};

/** The service sends to this address itself. @throws Problem `invalid-input` on `backchannel_logout_uri` */
const requireReachable = (uri: string, allowsPrivate: boolean): void => {
  if (uri === '' || allowsPrivate) return;
  const url = new URL(uri);
  const refuse = (message: string) => invalid({ backchannel_logout_uri: [message] });
  if (url.protocol !== 'https:') throw refuse('Must be an https:// address.');
  if (isPrivate(url)) throw refuse('Must not be in a private network.');
};
