import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { ProviderError } from '../../lib/provider-error.ts';
import type { Actor } from '../access/actor.ts';
import { NO_TARGET, ofUser } from '../audit/audit.ts';
import { outcomeOfLogin, reportLogin } from '../auth/login-opening.ts';
import { clientsOf } from '../clients/domains.ts';
import type { LoginStep } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { requireTester, type TestedLogin, testLogin } from './connection-tests.ts';
import { type ConnectionRow, callbackUrl, openConnection } from './connections.ts';
import { failureOf, SsoFailure } from './failures.ts';
import { browserSecret, type LoginKind, secretsOf } from './login-states.ts';
import { admitPerson, type Entry, lockAndDecide, openSession } from './people.ts';
import { type Stated, statedBy } from './stated.ts';

type Start = {
  connectionId: number;
  kind: LoginKind;
  /** The user who tests the connection. */
  actor: Actor | null;
  next: string | null;
  /** The address that the person has entered. */
  email: string | null;
  /** The cookie that binds a login to its browser. */
  browser: string | null;
};

type Answer = {
  connectionId: number;
  /** The query of the URL to which the provider has redirected the browser. */
  query: string;
  browser: string | null;
  userAgent: string;
  actor: Actor | null;
};

export type SsoResult =
  | { kind: 'session'; session: string; next: string | null }
  | { kind: 'challenge'; challenge: string; step: LoginStep; minutes: number; next: string | null }
  | { kind: 'test'; test: TestedLogin };

/** Logs people in with the identity providers of their clients, and superusers and staff with the provider of the installation. */
export const createSsoLogins = (unit: UnitOfWork) => {
  const { em, clock, baseUrl, identityProvider, loginStates } = unit;

  /** Reports a failure, and records it. */
  const fail = async (error: unknown, connection: ConnectionRow, isTest: boolean): Promise<never> => {
    const failure = error instanceof ProviderError ? failureOf(error, isTest) : error;
    if (failure instanceof SsoFailure && isTest) failure.tested = connection;
    reportLogin(failure instanceof Problem ? failure.code : 'internal-error');
    if (failure instanceof SsoFailure) await recordFailure(unit, failure, connection);
    throw failure;
  };

  /** In one transaction, so that a failure changes nothing. */
  const logIn = (stated: Stated, entry: Entry) =>
    em.transactional(async (tx) => {
      const now = clock.now();
      const decision = await lockAndDecide({ tx, now }, entry.connection, stated);
      const user = await admitPerson({ tx, audit: unit.audit, now }, entry.connection, stated, decision);
      return openSession(unit, tx, user, entry);
    });

  return {
    /**
     * The connection by which the actor's session began, where the actor can confirm it by another login. Null if there is none, or if it
     * is inactive by now.
     */
    findOwn: async ({ credential }: Actor): Promise<{ id: number; name: string } | null> => {
      // Most sessions began with a password: these need no query.
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
     * Starts a login. Nothing is stored.
     * @returns the URL to send the browser to, and the cookie that it must keep
     * @throws SsoFailure
     */
    start: async ({ connectionId, kind, actor, next, email, browser: cookie }: Start) => {
      const isTest = kind === 'test';
      const { connection, registration } = await openConnection(unit, connectionId, isTest);
      const tester = isTest ? requireTester(actor, connection).id : null;
      const browser = browserSecret(cookie);
      const login = { connection: connectionId, kind, tester, next, startedAt: clock.now().getTime() };
      const request = {
        ...secretsOf(browser, loginStates.seal(login, browser)),
        redirectUri: callbackUrl(baseUrl, connectionId),
        scopes: connection.scopes,
        loginHint: email,
        forcesLogin: kind === 'confirm',
      };
      const url = await identityProvider
        .startLogin(registration, request)
        .catch((error: unknown) => fail(error, connection, isTest));
      return { url, browser };
    },

    /**
     * Completes the login to which this answer of a provider belongs. An answer to a login that this browser has not started is refused,
     * but not recorded: any site can send one.
     * @throws SsoFailure
     */
    complete: async ({ connectionId, query, browser, userAgent, actor }: Answer) => {
      const state = new URLSearchParams(query).get('state') ?? '';
      const login = loginStates.open(state, browser, clock.now());
      const { connection, registration } = await openConnection(unit, connectionId, login.kind === 'test');
      if (login.connection !== connectionId) throw new SsoFailure('other-browser');
      const complete = async (): Promise<SsoResult> => {
        const tester = login.kind === 'test' ? requireTester(actor, connection, login.tester) : null;
        const hasConfirmed = login.kind === 'confirm';
        const assertion = await identityProvider.completeLogin(registration, {
          ...secretsOf(browser ?? '', state),
          // The URL that the provider knows, not the one that a proxy in front may have changed.
          url: new URL(`?${query}`, callbackUrl(baseUrl, connectionId)),
          forcesLogin: hasConfirmed,
          needed: [connection.email_claim, connection.groups_claim].filter(Boolean),
        });
        const stated = statedBy(connection, assertion);
        const { claims } = assertion;
        if (tester)
          return { kind: 'test', test: await testLogin(unit, tester, connection, { claims, stated }) };
        const opened = await logIn(stated, { connection, proof: assertion, hasConfirmed, userAgent });
        reportLogin(outcomeOfLogin(opened));
        return { ...opened, next: login.next };
      };
      return complete().catch((error: unknown) => fail(error, connection, login.kind === 'test'));
    },
  };
};

/** Records a failure that concerns a connection, without data from the provider. */
const recordFailure = async (
  { em, audit, logger }: UnitOfWork,
  { reason, email, cause }: SsoFailure,
  { id, client, name }: ConnectionRow,
): Promise<void> => {
  // By its domain, an address may also lead people of other clients here. The admins of this client must not see them.
  const member = client === null ? undefined : await findMember(em, client, email);
  const detail = cause instanceof ProviderError ? { detail: cause.message } : {};
  logger.warn({ connection: id, reason, ...detail }, 'Single sign-on failed');
  const details = { connection: id, name, reason, ...detail };
  const about = { actor: null, target: member ? ofUser(member) : NO_TARGET, clients: clientsOf(client) };
  await audit.record(em, [{ action: 'login.sso-fail', ...about, isForeign: !member, details }]);
};

const findMember = (em: Em, clientId: number, email: string) => {
  const members = kysely(em).selectFrom('memberships as m').innerJoin('users', 'users.id', 'm.user_id');
  const found = members.select(['users.id', 'email']).where('m.client_id', '=', clientId);
  return found.where('email', '=', email).executeTakeFirst();
};
