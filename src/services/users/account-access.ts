import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import type { Credential } from '../access/actor.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { deleteFactors } from '../auth/factor-management.ts';
import { endLaunches } from '../gate/ticket-revocations.ts';

/** Ends the password, sessions, tokens, links and launches of a locked user. `kept`: a credential that stays. */
export const endAccess = async (tx: Em, userId: number, now: Date, kept: Credential | null = null) => {
  await kysely(tx)
    .updateTable('users')
    .set({ password_hash: null, last_password_set: now })
    .where('id', '=', userId)
    .execute();
  await revokeCredentials(tx, userId, kept);
  await endLaunches(tx, userId, await clientIdsOf(tx, userId));
};

/** Also ends the second factors, and the stored responses to requests: nothing is left with which someone could log in, or repeat a request. */
export const endAllAccess = async (tx: Em, userId: number, now: Date, kept: Credential | null = null) => {
  await endAccess(tx, userId, now, kept);
  await deleteFactors(tx, userId);
  await kysely(tx).deleteFrom('idempotent_responses').where('user_id', '=', userId).execute();
};
