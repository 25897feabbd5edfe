import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Client, Site } from '../../../entities/client.ts';
import { User } from '../../../entities/user.ts';
import type { CommonPasswords } from '../../adapters/hashing/common-passwords.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { isPseudonym, isServiceAddress } from '../../lib/email-address.ts';
import { invalid } from '../../lib/problems.ts';
import { hasGlobalRole } from '../access/visibility.ts';
import { endUndo } from '../accounts/access-ends.ts';
import { addUser, type NewUser } from '../accounts/new-accounts.ts';
import { type Audit, ofClient, ofSite, ofUser } from '../audit/audit.ts';
import { endWeakerLogins, setPassword } from '../auth/credentials.ts';
import { defaultBranding } from '../clients/clients.ts';
import { enqueuePasswordNotice } from '../outbox/enqueue-mails.ts';
import { readPolicyOfUser, rejectWeakPassword, strictestPolicy } from '../passwords/password-rules.ts';
import { enqueueReactivationNotice } from '../policies/password-expiry.ts';
import type { ServiceDeps } from '../unit-of-work.ts';

type BootstrapInput = { domain: string; adminEmail: string; now: Date };

/**
 * Creates the first site with its client, and the first superuser, if they are missing. Instances that start at the same time run this one
 * after another. Returns true if the superuser was created.
 */
export const bootstrap = (
  em: Em,
  { domain, adminEmail, now }: BootstrapInput,
  audit: Audit,
  hash: () => Promise<string>,
): Promise<boolean> =>
  em.transactional(async (tx) => {
    await lockBootstrap(tx);
    if ((await tx.count(Site)) === 0) {
      const site = tx.create(Site, { domain, name: domain });
      const client = tx.create(Client, { site, name: 'My organization', ...defaultBranding('Steward') });
      await tx.flush();
      await audit.record(tx, [
        { action: 'site.create', actor: null, target: ofSite(site) },
        { action: 'client.create', actor: null, target: ofClient(client) },
      ]);
    }
    if ((await tx.count(User, { isSuperuser: true })) > 0) return false;
    const user = await promoteToSuperuser(tx, adminEmail, await hash(), now);
    await audit.record(tx, [{ action: 'user.make-superuser', actor: null, target: ofUser(user) }]);
    return true;
  });

/** Holds an advisory lock until the end of the transaction. */
export const lockBootstrap = (tx: Em) =>
  sql`select pg_advisory_xact_lock(hashtextextended('bootstrap', 0))`.execute(kysely(tx));

/**
 * Creates an active superuser, or promotes and activates an existing user. Without a hash, an existing password is
 * kept.
 * @throws Problem `invalid-input` on `email` for an erased person
 */
const promoteToSuperuser = async (tx: Em, email: string, passwordHash: string | null, now: Date) => {
  if (isPseudonym(email)) throw invalid({ email: ['This person has been erased.'] });
  if (isServiceAddress(email)) throw invalid({ email: ['This is the address of a service account.'] });
  const existing = await tx.findOne(User, { email }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const user = existing ?? (await addUser(tx, { email, isStaff: true }, now));
  user.setRoles({ isSuperuser: true });
  // The operator vouches for the address.
  user.isEmailVerified = true;
  user.activate(now);
  await tx.flush();
  await endUndo(tx, user.id);
  await enqueueReactivationNotice(tx, user.id, now);
  if (passwordHash) await setPassword(tx, { userId: user.id, hash: passwordHash, now });
  return user;
};

export const addUserWithPassword = async (tx: Em, input: NewUser, passwordHash: string, now: Date) => {
  const user = await addUser(tx, input, now);
  await tx.flush();
  await setPassword(tx, { userId: user.id, hash: passwordHash, now });
  return user;
};

type AdminInput = { email: string; password?: string; generated: string; now: Date };

/** The setting with the given password; errors name it. */
const SETTING = 'ADMIN_PASSWORD';

/**
 * Refuses a weak password of the first superuser.
 * @throws Problem `invalid-input` on `ADMIN_PASSWORD`
 */
export const rejectWeakAdminPassword = (
  email: string,
  password: string,
  { commonPasswords, passwordMinLength }: { commonPasswords: CommonPasswords; passwordMinLength: number },
): void => {
  const person = { email, firstName: '', lastName: '' };
  rejectWeakPassword(strictestPolicy([], passwordMinLength), password, person, commonPasswords, SETTING);
};

/** What `create-admin` did with the password. */
export type AdminPassword = 'kept' | 'set' | 'generated' | 'changed';

/**
 * Implements `create-admin`. Without a given password, a user who has one keeps it; a user without one gets the generated password. A
 * changed password ends the sessions and tokens of the user, who gets a mail about it.
 * @throws Problem `invalid-input` on `ADMIN_PASSWORD` if the policy does not allow the given password
 */
export const createAdmin = async (
  em: Em,
  deps: Pick<ServiceDeps, 'hasher' | 'loadCommonPasswords' | 'staffSecondFactor' | 'passwordMinLength'> & {
    audit: Audit;
  },
  { email, password, generated, now }: AdminInput,
): Promise<AdminPassword> => {
  const { hasher, audit, loadCommonPasswords, staffSecondFactor, passwordMinLength } = deps;
  const hash = await hasher.hash(password || generated);
  return em.transactional(async (tx) => {
    const existing = await kysely(tx)
      .selectFrom('users')
      .select(['id', 'password_hash', 'first_name as firstName', 'last_name as lastName'])
      .select(hasGlobalRole().as('isStaff'))
      .where('email', '=', email)
      .executeTakeFirst();
    if (password) {
      const policy = existing
        ? await readPolicyOfUser({ em: tx, passwordMinLength }, existing.id)
        : strictestPolicy([], passwordMinLength);
      const person = { email, firstName: '', lastName: '', ...existing };
      rejectWeakPassword(policy, password, person, await loadCommonPasswords(), SETTING);
    }
    const hadPassword = !!existing?.password_hash;
    const isKept = !password && hadPassword;
    const isChanged = password && hadPassword;
    if (isChanged) await enqueuePasswordNotice(tx, { userId: existing.id, now, address: null });
    const user = await promoteToSuperuser(tx, email, isKept ? null : hash, now);
    if (existing && !existing.isStaff) await endWeakerLogins(tx, existing.id, staffSecondFactor);
    await audit.record(tx, [
      { action: 'user.make-superuser', actor: null, target: ofUser(user) },
      ...(isChanged ? [{ action: 'password.change', actor: null, target: ofUser(user) } as const] : []),
    ]);
    if (isKept) return 'kept';
    if (!password) return 'generated';
    return isChanged ? 'changed' : 'set';
  });
};
