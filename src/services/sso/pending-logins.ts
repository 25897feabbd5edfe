import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { LoginSecrets } from '../../adapters/identity-provider/identity-provider.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { isSecret, newSecret } from '../../lib/ids.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { SsoFailure } from './failures.ts';
import { Stated } from './login-decision.ts';

/** - `confirm`: a login for which the person must enter their password at the provider again */
export type LoginKind = 'login' | 'confirm' | 'test';

/** What is kept of an answer while the person shows that an account is theirs. */
const Held = z.object({
  stated: Stated,
  proof: z.object({
    sid: z.string().nullable(),
    amr: z.array(z.string()),
    authTime: z.coerce.date().nullable(),
  }),
});
type Held = z.infer<typeof Held>;

/** How and in which session the person logged in at the provider. */
export type ProviderLogin = Held['proof'];

/** Minutes that a person may take at the provider. */
const LOGIN_MINUTES = 15;
/** Minutes to show that an account is theirs. */
const LINK_MINUTES = 10;

/** The secret of the browser: the one that its cookie has, or a new one. Logins in several tabs share it. */
export const browserSecret = (cookie: string | null): string =>
  cookie !== null && isSecret(cookie) ? cookie : newSecret();

/**
 * What protects a login. The nonce and the PKCE verifier are made from the secret of the browser, so that the database does not hold
 * them.
 */
export const secretsOf = (browser: string, state: string): LoginSecrets => {
  const derive = (purpose: string) =>
    createHmac('sha256', browser).update(`${purpose}\0${state}`).digest('base64url');
  return { state, nonce: derive('nonce'), codeVerifier: derive('verifier') };
};

type Pending = {
  connectionId: number;
  state: string;
  browser: string;
  /** Who tests, or the account to be linked. */
  userId: number | null;
  next: string | null;
  now: Date;
} & ({ kind: LoginKind; held?: undefined } | { kind: 'link'; held: Held });

/** Stores a login that is under way. */
export const addPending = (em: Em, { connectionId, userId, now, next, kind, ...login }: Pending) =>
  kysely(em)
    .insertInto('sso_logins')
    .values({
      connection_id: connectionId,
      digest: tokenDigest(login.state),
      browser_digest: tokenDigest(login.browser),
      kind,
      user_id: userId,
      next,
      assertion: login.held ? { ...login.held } : null,
      created_at: now,
      expires_at: new Date(now.getTime() + (kind === 'link' ? LINK_MINUTES : LOGIN_MINUTES) * MINUTE_MS),
    })
    .execute();

type Key = { state: string; browser: string | null; isLink: boolean; now: Date };

/**
 * Takes a pending login, once: of concurrent answers with one state, one gets it.
 * @throws SsoFailure `state-expired`, `other-browser`
 */
export const takePending = async (em: Em, key: Key) => {
  const { id, browser } = await findPending(em, key);
  const taken = await kysely(em)
    .updateTable('sso_logins')
    .set({ used_at: key.now })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .returning(['connection_id', 'kind', 'user_id', 'next'])
    .executeTakeFirst();
  if (!taken) throw new SsoFailure('state-expired');
  return { ...taken, browser };
};

/** @throws SsoFailure as `takePending` */
export const findLink = async (em: Em, key: Omit<Key, 'isLink'>) => {
  const { browser: _, assertion, ...link } = await findPending(em, { ...key, isLink: true });
  return { ...link, held: Held.parse(assertion) };
};

const findPending = async (em: Em, { state, browser, isLink, now }: Key) => {
  const rows = kysely(em)
    .selectFrom('sso_logins')
    .select(['id', 'connection_id', 'browser_digest', 'user_id', 'next', 'assertion'])
    .where('digest', '=', tokenDigest(state))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now);
  const found = await rows.where('kind', isLink ? '=' : '<>', 'link').executeTakeFirst();
  if (!found) throw new SsoFailure('state-expired');
  if (browser === null || tokenDigest(browser) !== found.browser_digest)
    throw new SsoFailure('other-browser');
  return { ...found, browser };
};
