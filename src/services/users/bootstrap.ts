import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { Site } from '../../../entities/site.ts';
import { User } from '../../../entities/user.ts';
import type { PasswordHasher } from '../../adapters/hashing/password-hasher.ts';
import { tables } from '../../db/kysely.ts';
import { isPseudonym } from '../../lib/email-address.ts';
import { invalid } from '../../lib/problems.ts';
import type { Audit } from '../audit/audit.ts';
import { setPassword } from '../auth/credentials.ts';
import { defaultBranding } from '../clients/clients.ts';
import { addUser, type NewUser } from './new-user.ts';

type BootstrapInput = { domain: string; adminEmail: string; now: Date };

/**
 * Creates the first site with its client, and the first superuser, if they are missing. Instances that start at the same
 * time run this one after another. Returns true if the superuser was created.
 */
export const bootstrap = (
  em: SqlEntityManager,
  { domain, adminEmail, now }: BootstrapInput,
  audit: Audit,
  hash: () => Promise<string>,
): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if ((await tx.count(Site)) === 0) {
      const site = tx.create(Site, { domain, name: domain });
      tx.create(Client, { site, name: 'My organization', ...defaultBranding('Steward') });
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

/** Holds an advisory lock until the end of the transaction. */
export const lockBootstrap = (tx: SqlEntityManager) =>
  sql`select pg_advisory_xact_lock(hashtextextended('bootstrap', 0))`.execute(tables(tx));

/**
 * Creates an active superuser, or promotes and activates an existing user. Without a hash, an existing password is
 * kept.
 * @throws Problem `invalid-input` on `email` for an erased person
 */
export const promoteToSuperuser = async (
  tx: SqlEntityManager,
  email: string,
  passwordHash: string | null,
  now: Date,
): Promise<void> => {
  if (isPseudonym(email)) throw invalid({ email: ['This person has been erased.'] });
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

type AdminInput = { email: string; password?: string; generated: string; now: Date };

/**
 * Implements `create-admin`. Without a given password, a user who has one keeps it, and a user without one gets the
 * generated password. Returns true if the generated password was set.
 */
export const createAdmin = async (
  em: SqlEntityManager,
  hasher: PasswordHasher,
  audit: Audit,
  { email, password, generated, now }: AdminInput,
): Promise<boolean> => {
  const hash = await hasher.hash(password || generated);
  return em.transactional(async (tx) => {
    const existing = await tables(tx)
      .selectFrom('users')
      .select('password_hash')
      .where('email', '=', email)
      .executeTakeFirst();
    const usesGenerated = !password && !existing?.password_hash;
    await promoteToSuperuser(tx, email, password || usesGenerated ? hash : null, now);
    await audit.record(tx, [{ action: 'user.make-superuser', actor: null, target: email }]);
    return usesGenerated;
  });
};
