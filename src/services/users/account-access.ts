import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { endWaysIn } from '../auth/ways-in.ts';
import { endLaunches } from '../gate/ticket-revocations.ts';

/** Ends the password, sessions, tokens, links and launches of a locked user. */
export const endAccess = async (tx: Em, userId: number, now: Date) => {
  const withoutPassword = { password_hash: null, last_password_set: now };
  await kysely(tx).updateTable('users').set(withoutPassword).where('id', '=', userId).execute();
  await revokeCredentials(tx, userId);
  await endLaunches(tx, userId, await clientIdsOf(tx, userId));
};

/** Also ends second factors, identities, and the stored responses to requests: nothing is left with which someone could log in, or repeat a request. */
export const endAllAccess = async (tx: Em, userId: number, now: Date) => {
  await endWaysIn(tx, userId, now);
  await endLaunches(tx, userId, await clientIdsOf(tx, userId));
  await kysely(tx).deleteFrom('idempotent_responses').where('user_id', '=', userId).execute();
};
