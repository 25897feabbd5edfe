import { LockMode } from '@mikro-orm/postgresql';
import { SsoConnection } from '../../../entities/sso.ts';
import type { Assertion } from '../../adapters/identity-provider/identity-provider.ts';
import { type Actor, administersClient } from '../access/actor.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { ConnectionRow } from './connections.ts';
import { SsoFailure, type SsoReason } from './failures.ts';
import { type Decision, decideLogin, type Stated } from './login-decision.ts';

/** What a login would have done. */
export type TestedLogin = {
  connection: ConnectionRow;
  claims: Assertion['claims'];
  stated: Stated;
  decision: Decision;
  /** Why it would be refused. */
  refusal: string | null;
};

/** Refusals of people who have an account. */
const REVEALING: readonly SsoReason[] = ['unknown-person', 'password-only'];

/** What a login would do with these claims. Records the test of a connection whose provider states an address. */
export const testLogin = async (
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
      const about = {
        actor: tester,
        target: { type: 'connection', id, label: name } as const,
        clients: [client],
        details: { id },
      };
      await audit.record(tx, [{ action: 'connection.test', ...about }]);
    });
  await duplicateLimit.check(em, tester.id);
  const decision = await decideLogin(em, connection, login.stated, clock.now());
  if (decision.kind !== 'refuse') return { connection, ...login, decision, refusal: null };
  // Others might be created, or accept an invitation: these refusals reveal that the address has an account.
  if (REVEALING.includes(decision.reason)) await duplicateLimit.add(tester.id);
  return { connection, ...login, decision, refusal: new SsoFailure(decision.reason).message };
};

/**
 * @param startedBy who must have started the test
 * @throws SsoFailure
 */
export const requireTester = (
  actor: Actor | null,
  { client }: ConnectionRow,
  startedBy: number | null = actor?.id ?? null,
): Actor => {
  if (!actor || actor.id !== startedBy || !administersClient(actor, client))
    throw new SsoFailure('not-your-test');
  return actor;
};
