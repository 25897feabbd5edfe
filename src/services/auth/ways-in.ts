import { type Em, kysely } from '../../db/kysely.ts';
import { revokeCredentials } from '../accounts/access-ends.ts';

/** Tables with which someone can log in without the password, or repeat a request. A reset by mail leaves them unchanged. */
const WAYS_IN = ['mfa_factors', 'recovery_codes', 'external_identities', 'idempotent_responses'] as const;

/**
 * Ends every way to log in to the account of a locked user, all credentials that exist already, and stored responses that their holders
 * could request again. The next login needs another proof of the address.
 */
export const endWaysIn = async (tx: Em, userId: number, now: Date): Promise<void> => {
  const withoutPassword = { password_hash: null, last_password_set: now };
  await kysely(tx).updateTable('users').set(withoutPassword).where('id', '=', userId).execute();
  for (const table of WAYS_IN) await kysely(tx).deleteFrom(table).where('user_id', '=', userId).execute();
  await revokeCredentials(tx, userId);
};

/**
 * Call it when a locked user has proved the address: by a link that only its mailbox has received, or by the identity provider of a client
 * that has verified the domain. The first proof since the address was set ends all earlier access: an admin may have copied a link and
 * prepared the account.
 */
export const proveAddress = async (
  { tx, now }: { tx: Em; now: Date },
  { id, isEmailVerified }: { id: number; isEmailVerified: boolean },
): Promise<void> => {
  if (isEmailVerified) return;
  await endWaysIn(tx, id, now);
  await kysely(tx).updateTable('users').set({ is_email_verified: true }).where('id', '=', id).execute();
};
