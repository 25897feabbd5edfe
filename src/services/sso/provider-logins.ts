import { type Em, kysely } from '../../db/kysely.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { ProviderError } from '../../lib/provider-error.ts';
import type { Actor } from '../access/actor.ts';
import { NO_TARGET, ofUser } from '../audit/audit.ts';
import type { LoginStep } from '../auth/factor-policy.ts';
import { outcomeOfLogin, reportLogin } from '../auth/login-opening.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { requireTester, type TestedLogin, testLogin } from './connection-tests.ts';
import { type ConnectionRow, callbackUrl, openConnection } from './connections.ts';
import { failureOf, SsoFailure, type SsoReason } from './failures.ts';
import { type Stated, statedBy } from './login-decision.ts';
import { addPending, browserSecret, type LoginKind, secretsOf, takePending } from './pending-logins.ts';
import { admitPerson, type Entry, lockAndDecide, openSession } from './people.ts';

type Start = {
  connectionId: number;
  kind: LoginKind;
  /** Who tests. */
  actor: Actor | null;
  next: string | null;
  /** The address that the person has entered. */
  email: string | null;
  /** The cookie that binds a login to its browser. */
  browser: string | null;
};

type Answer = {
  connectionId: number;
  /** The query of the URL to which the provider has sent the browser. */
  query: string;
  browser: string | null;
  userAgent: string;
  actor: Actor | null;
};

/** What a login leads to. */
export type SsoResult =
  | { kind: 'session'; session: string; next: string | null }
  | { kind: 'challenge'; challenge: string; step: LoginStep; minutes: number; next: string | null }
  | { kind: 'link'; state: string }
  | { kind: 'test'; test: TestedLogin };

/** Logs people in with the identity providers of their clients. */
export const createSsoLogins = (unit: UnitOfWork) => {
  const { em, clock, audit, origin, baseUrl, identityProvider, anonymousLimits } = unit;

  /** Reports a failure, and records what concerns a connection. */
  const fail = async (error: unknown, connection: ConnectionRow | null): Promise<never> => {
    const failure = error instanceof ProviderError ? failureOf(error) : error;
    reportLogin(failure instanceof Problem ? failure.code : 'internal-error');
    if (failure instanceof SsoFailure && connection !== null) await recordFailure(unit, failure, connection);
    throw failure;
  };

  /** In one transaction, so that a failure changes nothing. */
  const logIn = async (
    stated: Stated,
    entry: Entry,
    { browser, next }: { browser: string; next: string | null },
  ): Promise<Exclude<SsoResult, { kind: 'test' }>> =>
    em.transactional(async (tx) => {
      const now = clock.now();
      const { connection, proof } = entry;
      const decision = await lockAndDecide({ tx, now }, connection, stated);
      if (decision.kind === 'link') {
        const state = newSecret();
        const pending = { connectionId: connection.id, userId: decision.user.id, kind: 'link' } as const;
        await addPending(tx, { ...pending, state, browser, next, held: { stated, proof }, now });
        return { kind: 'link', state };
      }
      const user = await admitPerson({ tx, audit, now }, connection, stated, decision);
      return { ...(await openSession(unit, tx, user, entry)), next };
    });

  return {
    /**
     * The connection with which the session of the actor began, where they can confirm it by another login. Null without one, or if it is
     * not active any more.
     */
    findOwn: async ({ credential }: Actor): Promise<{ id: number; name: string } | null> => {
      // Most sessions began with a password: they need no query.
      if (credential?.kind !== 'session' || !credential.proof?.methods.includes('sso')) return null;
      const own = await kysely(em)
        .selectFrom('sessions')
        .innerJoin('sso_connections as c', 'c.id', 'sessions.connection_id')
        .select(['c.id', 'c.name'])
        .where('sessions.id', '=', credential.id)
        .where('c.is_active', '=', true)
        .executeTakeFirst();
      return own ?? null;
    },

    /**
     * Starts a login.
     * @returns where to send the browser, and the cookie that it must keep
     * @throws SsoFailure, Problem `throttled`
     */
    start: async ({ connectionId, kind, actor, next, email, browser: cookie }: Start) => {
      const isTest = kind === 'test';
      const { connection, registration } = await openConnection(unit, connectionId, isTest);
      const tester = isTest ? requireTester(actor, connection) : null;
      await anonymousLimits.addSsoLogin(origin.address ?? '');
      const browser = browserSecret(cookie);
      const state = newSecret();
      const request = {
        ...secretsOf(browser, state),
        redirectUri: callbackUrl(baseUrl, connectionId),
        scopes: connection.scopes,
        loginHint: email,
        forcesLogin: kind === 'confirm',
      };
      const url = await identityProvider
        .startLogin(registration, request)
        .catch((error: unknown) => fail(error, connection));
      const userId = tester?.id ?? null;
      await addPending(em, { connectionId, state, browser, kind, userId, next, now: clock.now() });
      return { url, browser };
    },

    /**
     * Completes the login to which this answer of a provider belongs, once.
     * @throws SsoFailure, Problem `throttled`
     */
    complete: async ({ connectionId, query, browser: cookie, userAgent, actor }: Answer) => {
      const { connection, registration } = await openConnection(unit, connectionId, true);
      const complete = async (): Promise<SsoResult> => {
        const state = new URLSearchParams(query).get('state') ?? '';
        const now = clock.now();
        const pending = await takePending(em, { state, browser: cookie, isLink: false, now });
        if (pending.connection_id !== connectionId) throw new SsoFailure('state-expired');
        if (!connection.is_active && pending.kind !== 'test') throw new SsoFailure('inactive');
        const tester = pending.kind === 'test' ? requireTester(actor, connection, pending.user_id) : null;
        const hasConfirmed = pending.kind === 'confirm';
        const assertion = await identityProvider.completeLogin(registration, {
          ...secretsOf(pending.browser, state),
          // The address that the provider knows, whatever a proxy in front has made of it.
          url: new URL(`?${query}`, callbackUrl(baseUrl, connectionId)),
          forcesLogin: hasConfirmed,
          needed: [connection.email_claim, connection.groups_claim].filter(Boolean),
        });
        const stated = statedBy(connection, assertion);
        const { claims } = assertion;
        if (tester)
          return { kind: 'test', test: await testLogin(unit, tester, connection, { claims, stated }) };
        const entry = { connection, proof: assertion, hasConfirmed, userAgent };
        const result = await logIn(stated, entry, pending);
        if (result.kind !== 'link') reportLogin(outcomeOfLogin(result));
        return result;
      };
      return complete().catch((error: unknown) => fail(error, connection));
    },
  };
};

/** Why an answer belongs to no login of this browser. */
const STRAY: readonly SsoReason[] = ['state-expired', 'other-browser'];

/** Records a failure that concerns a connection, without what the provider has sent. */
const recordFailure = async (
  { em, audit, origin, logger, anonymousLimits }: UnitOfWork,
  { reason, email, cause }: SsoFailure,
  { id, client, name }: ConnectionRow,
): Promise<void> => {
  // A domain also leads people of other clients here, who are not for the admins of this one.
  const member = await findMember(em, client, email);
  const target = member ? ofUser(member) : NO_TARGET;
  const isForeign = !member || reason === 'password-only';
  const detail = cause instanceof ProviderError ? { detail: cause.message } : {};
  logger.warn({ connection: id, reason, ...detail }, 'Single sign-on failed');
  const details = { connection: id, name, reason, ...detail };
  const address = origin.address ?? '';
  // Each adds a row. Another site can make a browser send those that belong to no login of it: they must not use up the logins of its network.
  if (STRAY.includes(reason)) await anonymousLimits.addFailure('callback', address);
  else await anonymousLimits.addSsoLogin(address);
  await audit.record(em, [
    { action: 'login.sso-fail', actor: null, target, clients: [client], isForeign, details },
  ]);
};

const findMember = (em: Em, clientId: number, email: string) => {
  const members = kysely(em).selectFrom('memberships as m').innerJoin('users', 'users.id', 'm.user_id');
  const found = members.select(['users.id', 'email']).where('m.client_id', '=', clientId);
  return found.where('email', '=', email).executeTakeFirst();
};
