import { type Em, kysely } from '../../db/kysely.ts';
import { revokeCredentials } from './credentials.ts';

/** The tables of what someone can log in with beside the password, or could repeat. A reset by mail ends none of them. */
const WAYS_IN = ['mfa_factors', 'recovery_codes', 'external_identities', 'idempotent_responses'] as const;

/**
 * Ends every way to log in to the account of a locked user, what is in the hands of those who have, and stored responses that they could ask
 * for again: the next login needs another proof of the address.
 */
export const endWaysIn = async (tx: Em, userId: number, now: Date): Promise<void> => {
  const withoutPassword = { password_hash: null, last_password_set: now };
  await kysely(tx).updateTable('users').set(withoutPassword).where('id', '=', userId).execute();
  for (const table of WAYS_IN) await kysely(tx).deleteFrom(table).where('user_id', '=', userId).execute();
  await revokeCredentials(tx, userId);
};

/**
 * Call it when someone has shown that the address of a locked user is theirs: by a link that only its mailbox has received, or by the identity
 * provider of a client that has verified its domain. The first time since the address was set, all that was there before ends: an admin may have
 * copied a link and prepared the account.
 */
export const proveAddress = async (
  { tx, now }: { tx: Em; now: Date },
  { id, isEmailVerified }: { id: number; isEmailVerified: boolean },
): Promise<void> => {
  if (isEmailVerified) return;
  await endWaysIn(tx, id, now);
  await kysely(tx).updateTable('users').set({ is_email_verified: true }).where('id', '=', id).execute();
};
