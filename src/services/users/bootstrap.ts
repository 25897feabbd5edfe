import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { Site } from '../../../entities/site.ts';
import { User } from '../../../entities/user.ts';
import type { PasswordHasher } from '../../adapters/hashing/password-hasher.ts';
import { tables } from '../../db/kysely.ts';
import type { Audit } from '../audit/audit.ts';
import { setPassword } from '../auth/credentials.ts';
import { friendlyTexts } from '../clients/clients.ts';
import { addUser, type NewUser } from './new-user.ts';

type FirstStart = { domain: string; adminEmail: string; now: Date };

/**
 * Makes the first site with its client where there is none, and the first superuser where there is none.
 * Instances that start together take keyedMutex. Returns whether the superuser was made now.
 */
export const bootstrap = (
  em: SqlEntityManager,
  { domain, adminEmail, now }: FirstStart,
  audit: Audit,
  hash: () => Promise<string>,
): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if ((await tx.count(Site)) === 0) {
      const site = tx.create(Site, { domain, name: domain });
      tx.create(Client, { site, name: 'My organization', ...friendlyTexts('Steward') });
      await audit.record(tx, [
        { action: 'site.create', actor: null, target: domain },
        { action: 'client.create', actor: null, target: 'My organization' },
      ]);
    }
    if ((await tx.count(User, { isSuperuser: true })) > 0) return false;
    await promoteToSuperuser(tx, adminEmail, await hash(), now);
    await audit.record(tx, [{ action: 'user.make-superuser', actor: null, target: adminEmail }]);
    return true;
  });

/** Held until the end of the transaction: there is only one first start. */
export const lockBootstrap = (tx: SqlEntityManager) =>
  sql`select pg_advisory_xact_lock(hashtextextended('first start', 0))`.execute(tables(tx));

/**
 * Makes a superuser of this address, or one of the active or inactive user who has it already. Without a hash
 * an existing one keeps the password they have.
 */
export const promoteToSuperuser = async (
  tx: SqlEntityManager,
  email: string,
  passwordHash: string | null,
  now: Date,
): Promise<void> => {
  const existing = await tx.findOne(User, { email });
  const user = existing ?? (await addUser(tx, { email, isStaff: true }, now));
  user.isSuperuser = true;
  user.activate(now);
  await tx.flush();
  if (passwordHash) await setPassword(tx, { userId: user.id, hash: passwordHash, now });
};

export const addUserWithPassword = async (
  tx: SqlEntityManager,
  input: NewUser,
  passwordHash: string,
  now: Date,
): Promise<User> => {
  const user = await addUser(tx, input, now);
  await tx.flush();
  await setPassword(tx, { userId: user.id, hash: passwordHash, now });
  return user;
};

type AdminInput = { email: string; password?: string; offered: string; now: Date };

/**
 * What `create-admin` does. Without a password to set, one who can log in already keeps theirs, and anybody else
 * gets the one on offer. Returns whether that one was set.
 */
export const createAdmin = async (
  em: SqlEntityManager,
  hasher: PasswordHasher,
  audit: Audit,
  { email, password, offered, now }: AdminInput,
): Promise<boolean> => {
  const hashes = { given: password && (await hasher.hash(password)), offered: await hasher.hash(offered) };
  return em.transactional(async (tx) => {
    const existing = await tables(tx)
      .selectFrom('users')
      .select('password_hash')
      .where('email', '=', email)
      .executeTakeFirst();
    const isOfferedSet = !hashes.given && !existing?.password_hash;
    await promoteToSuperuser(tx, email, hashes.given || (isOfferedSet ? hashes.offered : null), now);
    await audit.record(tx, [{ action: 'user.make-superuser', actor: null, target: email }]);
    return isOfferedSet;
  });
};
