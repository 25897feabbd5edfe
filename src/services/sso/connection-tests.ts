import { LockMode } from '@mikro-orm/postgresql';
import { SsoConnection } from '../../../entities/sso.ts';
import type { Assertion } from '../../adapters/identity-provider/identity-provider.ts';
import type { Actor } from '../access/actor.ts';
import { ofConnection } from '../audit/audit.ts';
import { clientsOf, managesConnections } from '../clients/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { ConnectionRow } from './connections.ts';
import { SsoFailure } from './failures.ts';
import { type Decision, decideLogin } from './login-decision.ts';
import type { Stated } from './stated.ts';

/** What a login would do. */
export type TestedLogin = {
  connection: ConnectionRow;
  claims: Assertion['claims'];
  stated: Stated;
  decision: Decision;
  /** Why it would be refused. */
  refusal: string | null;
};

/** Determines what a login would do with these claims. If the provider states an address, records that the connection was tested. */
export const testLogin = async (
  { em, clock, audit }: UnitOfWork,
  tester: Actor,
  connection: ConnectionRow,
  login: Pick<TestedLogin, 'claims' | 'stated'>,
): Promise<TestedLogin> => {
  const { id, issuer, client_id: registeredAs, client, name } = connection;
  if (login.stated.email !== null)
    await em.transactional(async (tx) => {
      // The connection may have changed since the test began.
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const tested = await tx.findOne(SsoConnection, { id, issuer, registeredAs }, { lockMode });
      if (tested) tested.testedAt = clock.now();
      await tx.flush();
      const about = {
        actor: tester,
        target: ofConnection({ id, name }),
        clients: clientsOf(client),
        details: { id },
      };
      await audit.record(tx, [{ action: 'connection.test', ...about }]);
    });
  const decision = await decideLogin(em, connection, login.stated, clock.now());
  const refusal = decision.kind === 'refuse' ? new SsoFailure(decision.reason).message : null;
  return { connection, ...login, decision, refusal };
};

/**
 * @param startedBy the user who started the test
 * @throws SsoFailure
 */
export const requireTester = (
  actor: Actor | null,
  { client }: ConnectionRow,
  startedBy: number | null = actor?.id ?? null,
): Actor => {
  if (!actor || actor.id !== startedBy || !managesConnections(actor, client))
    throw new SsoFailure('not-your-test');
  return actor;
};
