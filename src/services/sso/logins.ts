import { LockMode } from '@mikro-orm/postgresql';
import { SsoConnection } from '../../../entities/sso.ts';
import type { Assertion } from '../../adapters/identity-provider/identity-provider.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { newSecret } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { ProviderError } from '../../lib/provider-error.ts';
import { type Outcome, telemetry } from '../../lib/telemetry.ts';
import { type Actor, administersClient } from '../access/actor.ts';
import type { LoginStep } from '../auth/factor-policy.ts';
import type { CodeOwner } from '../auth/factor-proofs.ts';
import { MINUTES } from '../auth/login-challenges.ts';
import { createLoginOpening, outcomeOfLogin } from '../auth/login-opening.ts';
import { type AuthMethod, addMethods, BY_PASSWORD, byProvider } from '../auth/methods.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type ConnectionRow, callbackUrl, openConnection } from './connections.ts';
import { failureOf, SsoFailure, type SsoReason } from './failures.ts';
import { type Decision, decideLogin, type Stated, statedBy } from './login-decision.ts';
import {
  addPending,
  browserSecret,
  findLink,
  type LoginKind,
  type ProviderLogin,
  secretsOf,
  takePending,
} from './pending-logins.ts';
import { admitPerson, lockAndDecide } from './people.ts';

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

type Link = {
  state: string;
  browser: string | null;
  password: string;
  code: string | undefined;
  device: string | null;
  userAgent: string;
};

/** What a login leads to. */
export type SsoResult =
  | { kind: 'session'; session: string; next: string | null }
  | { kind: 'challenge'; challenge: string; step: LoginStep; minutes: number; next: string | null }
  | { kind: 'link'; state: string }
  | { kind: 'test'; test: TestedLogin };

/** What a login would have done. */
export type TestedLogin = {
  connection: ConnectionRow;
  claims: Assertion['claims'];
  stated: Stated;
  decision: Decision;
  /** Why it would be refused. */
  refusal: string | null;
};

/** Logs people in with the identity providers of their clients. */
export const createSsoLogins = (unit: UnitOfWork) => {
  const { em, clock, audit, origin, baseUrl, identityProvider } = unit;
  const { passwordVerification, factorProofs, anonymousLimits } = unit;
  const opening = createLoginOpening(unit);
  const address = origin.address ?? '';

  /** Reports a failure, and records what concerns a connection. */
  const fail = async (error: unknown, connection: ConnectionRow | null): Promise<never> => {
    const failure = error instanceof ProviderError ? failureOf(error) : error;
    reportLogin(failure instanceof Problem ? failure.code : 'internal-error');
    if (failure instanceof SsoFailure && connection !== null) await recordFailure(unit, failure, connection);
    throw failure;
  };

  type Entry = { connection: ConnectionRow; proof: ProviderLogin; hasConfirmed: boolean; userAgent: string };

  /** Opens a session of a locked person. `entered`: what they have entered here. */
  const openSession = async (
    tx: Em,
    user: CodeOwner,
    { connection: { id: connectionId, name }, proof, hasConfirmed, userAgent }: Entry,
    entered: readonly AuthMethod[] = [],
  ) => {
    const now = clock.now();
    const methods = byProvider(proof.amr);
    // Without `auth_time`, the person may have logged in there long ago.
    const authenticatedAt = hasConfirmed ? now : (proof.authTime ?? new Date(0));
    const login = await opening.open(tx, user, {
      methods: addMethods(methods, entered),
      userAgent,
      provider: { connectionId, sid: proof.sid },
      authenticatedAt: authenticatedAt < now ? authenticatedAt : now,
      details: { connection: connectionId, name },
    });
    return 'session' in login
      ? ({ kind: 'session', session: login.session } as const)
      : ({ kind: 'challenge', ...login, minutes: MINUTES[login.step] } as const);
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
      return { ...(await openSession(tx, user, entry)), next };
    });

  /** @throws SsoFailure */
  const openLink = async (state: string, browser: string | null) => {
    const link = await findLink(em, { state, browser, now: clock.now() });
    const { connection } = await openConnection(unit, link.connection_id);
    const decision = await decideLogin(em, connection, link.held.stated, clock.now());
    // The account was linked, or its access ended, since.
    if (decision.kind !== 'link') throw new SsoFailure('state-expired');
    return { ...link.held, next: link.next, connection, user: decision.user };
  };

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
      await anonymousLimits.addSsoLogin(address);
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
    complete: async ({
      connectionId,
      query,
      browser: cookie,
      userAgent,
      actor,
    }: Answer): Promise<SsoResult> => {
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
        if (tester)
          return {
            kind: 'test',
            test: await testLogin(unit, tester, connection, { claims: assertion.claims, stated }),
          };
        const entry = { connection, proof: assertion, hasConfirmed, userAgent };
        const result = await logIn(stated, entry, pending);
        if (result.kind !== 'link') reportLogin(outcomeOfLogin(result));
        return result;
      };
      return complete().catch((error: unknown) => fail(error, connection));
    },

    /**
     * What the page shows that asks for the password of an account to be linked.
     * @throws SsoFailure
     */
    readLink: async (state: string, browser: string | null) => {
      const { user, connection, next } = await openLink(state, browser);
      return { email: user.email, hasSecondFactor: user.hasSecondFactor, name: connection.name, next };
    },

    /**
     * Links an account to the identity with which the person has come back, after they have shown that it is theirs.
     * @throws SsoFailure, Problem `invalid-credentials`, `otp-required`, `invalid-otp`, `throttled`, `overloaded`
     */
    link: async ({ state, browser, password, code, device, userAgent }: Link): Promise<SsoResult> => {
      const { stated, proof, connection, user, next } = await openLink(state, browser);
      const source = { deviceCookie: device };
      const verified = await passwordVerification.verify(user.email, password, source);
      const hasFactor = verified.factors.enrolled > 0;
      const isUnchanged = (found: Decision): boolean =>
        found.kind === 'link' &&
        found.user.id === verified.id &&
        found.user.lastPasswordSet.getTime() === verified.lastPasswordSet.getTime();
      const link = (consume?: (tx: Em) => Promise<readonly AuthMethod[]>) =>
        em.transactional(async (tx) => {
          const now = clock.now();
          const decision = await lockAndDecide({ tx, now }, connection, stated);
          if (!isUnchanged(decision)) throw new SsoFailure('state-expired');
          await takePending(tx, { state, browser, isLink: true, now });
          // It may have been added since the password was verified.
          const hasSecondFactor = 'user' in decision && decision.user.hasSecondFactor;
          if (hasSecondFactor && !consume) throw new Problem('otp-required');
          const entered = consume ? addMethods(BY_PASSWORD, await consume(tx)) : BY_PASSWORD;
          const person = await admitPerson({ tx, audit, now }, connection, stated, decision, true);
          const entry = { connection, proof, hasConfirmed: true, userAgent };
          return openSession(tx, person, entry, entered);
        });
      if (hasFactor && code === undefined) throw new Problem('otp-required');
      const result = await (hasFactor && code !== undefined
        ? factorProofs.verify(verified, source, { code }, link)
        : link());
      reportLogin(outcomeOfLogin(result));
      return { ...result, next };
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
  const isMember = email !== '' && (await isMemberOf(em, client, email));
  const target = isMember ? email : '';
  const isForeign = !isMember || reason === 'password-only';
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

const isMemberOf = async (em: Em, clientId: number, email: string): Promise<boolean> => {
  const members = kysely(em).selectFrom('memberships as m').innerJoin('users', 'users.id', 'm.user_id');
  const found = members.select('users.id').where('m.client_id', '=', clientId).where('email', '=', email);
  return (await found.executeTakeFirst()) !== undefined;
};

/** Refusals of people who have an account. */
const REVEALING: readonly SsoReason[] = ['unknown-person', 'password-only'];

/** What a login would do with these claims. Records the test of a connection whose provider states an address. */
const testLogin = async (
  { em, clock, audit, duplicateLimit }: UnitOfWork,
  tester: Actor,
  connection: ConnectionRow,
  login: Pick<TestedLogin, 'claims' | 'stated'>,
): Promise<TestedLogin> => {
  const { id, issuer, client_id: registeredAs, client, name } = connection;
  if (login.stated.email !== null)
    await em.transactional(async (tx) => {
      // It may have been changed since the test began.
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const tested = await tx.findOne(SsoConnection, { id, issuer, registeredAs }, { lockMode });
      if (tested) tested.testedAt = clock.now();
      await tx.flush();
      const about = { actor: tester, target: name, clients: [client], details: { id } };
      await audit.record(tx, [{ action: 'connection.test', ...about }]);
    });
  await duplicateLimit.check(em, tester.id);
  const decision = await decideLogin(em, connection, login.stated, clock.now());
  if (decision.kind !== 'refuse') return { connection, ...login, decision, refusal: null };
  // Others might be created, or accept an invitation: it tells that the address has an account.
  if (REVEALING.includes(decision.reason)) await duplicateLimit.add(tester.id);
  return { connection, ...login, decision, refusal: new SsoFailure(decision.reason).message };
};

/**
 * @param startedBy who must have started the test
 * @throws SsoFailure
 */
const requireTester = (
  actor: Actor | null,
  { client }: ConnectionRow,
  startedBy: number | null = actor?.id ?? null,
): Actor => {
  if (!actor || actor.id !== startedBy || !administersClient(actor, client))
    throw new SsoFailure('not-your-test');
  return actor;
};

const reportLogin = (outcome: Outcome): void => telemetry.login.publish(() => ({ outcome }));
