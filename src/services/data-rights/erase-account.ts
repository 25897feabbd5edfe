import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { Erasure } from '../../../entities/erasure.ts';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { ERASED_DOMAIN, isPseudonym } from '../../lib/email-address.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import type { Audit } from '../audit/audit.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { accountKeys } from '../auth/login-limits.ts';
import { usedApps } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';
import { readAddresses } from '../users/addresses.ts';
import { lockSuperusers, requireAnotherSuperuser } from '../users/user-locks.ts';
import { isRunning, type ReplacedRows, type RunningErasure, replaceRows } from './erased-rows.ts';
import type { AddressDigest } from './erasure-keys.ts';

/** Entries of each log that are replaced in the same transaction as the account: within a second or two. */
const LOG_LIMIT = 20_000;

type Deps = { tx: Em; now: Date; audit: Audit; addressDigest: AddressDigest };

export type LockedPerson = Awaited<ReturnType<typeof lockPerson>>;

/**
 * Locks a person who may be erased. An erased person may be erased again, because something may have been written about the
 * pseudonym. All superusers are locked first, because the person may be one of them.
 * @param actor null for the operator at the command line
 * @throws Problem `not-found`, `self-modification`, `last-superuser`, `unauthenticated`
 */
export const lockPerson = async (tx: Em, actor: Actor | null, email: string) => {
  await lockSuperusers(tx, actor);
  const person = await kysely(tx)
    .selectFrom('users')
    .select(['id', 'email', 'handle', 'first_name', 'last_name', 'is_active', 'is_staff', 'is_superuser'])
    .select(['last_password_set', 'last_login', 'date_joined'])
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('user'));
  if (person.id === actor?.id) throw new Problem('self-modification');
  if (person.is_superuser) await requireAnotherSuperuser(tx, person);
  return { ...person, clientIds: await clientIdsOf(tx, person.id) };
};

/**
 * Replaces a locked person by a pseudonym, revokes all access, and leaves an erasure with what is left to do, and one for each former
 * address. Must not share its transaction with a request that could write the address afterwards.
 */
export const eraseAccount = async (
  { tx, now, audit, addressDigest }: Deps,
  actor: Actor | null,
  person: LockedPerson,
): Promise<{ erasure: RunningErasure; replaced: ReplacedRows }> => {
  // Writers of usage hold these until they commit, and see the erasure afterwards.
  for (const appId of await usedApps(tx, person.email)) await lockUsage(appId).execute(kysely(tx));
  const pseudonym = `erased-${randomBytes(8).toString('hex')}@${ERASED_DOMAIN}`;
  const { email: address, handle, first_name: firstName, last_name: lastName } = person;
  const digest = await digestOf(tx, person, addressDigest);
  const begun = { userId: person.id, pseudonym, now };
  const erasure = await addErasure(tx, { ...begun, digest }, { email: address, handle, firstName, lastName });
  const former = (await readAddresses(tx, person.id)).filter((email) => email !== address);
  const erasures = [erasure];
  for (const email of former)
    erasures.push(await addErasure(tx, { ...begun, digest: addressDigest(email) }, { email, ...NO_NAMES }));
  if (isPseudonym(address)) await keepDigests(tx, address, pseudonym);
  await replaceUser(tx, erasure, now);
  await deleteAccess(tx, person, [address, ...former]);
  const replaced = await replaceAll(tx, erasures, now);
  await lockAccessChange(tx, person.id, actor);
  const clients = person.clientIds;
  await audit.record(tx, [
    { action: 'user.erase', actor, target: erasure.pseudonym, clients, details: replaced },
  ]);
  return { erasure, replaced };
};

/** The digest of the person's own address: if they were erased before, it moves from the earlier erasure to the new one. */
const digestOf = async (tx: Em, { email }: LockedPerson, addressDigest: AddressDigest) => {
  if (!isPseudonym(email)) return addressDigest(email);
  const earlier = kysely(tx).selectFrom('erasures').select('digest').where('pseudonym', '=', email);
  const kept = await earlier.where('digest', 'is not', null).orderBy('id').executeTakeFirst();
  return kept?.digest ?? null;
};

/** The digests of former addresses of a person who was erased before. */
const keepDigests = async (tx: Em, earlier: string, pseudonym: string): Promise<void> => {
  const others = kysely(tx).updateTable('erasures').set({ pseudonym }).where('pseudonym', '=', earlier);
  await others.where('digest', 'is not', null).execute();
};

/** Their sum. */
const replaceAll = async (tx: Em, erasures: readonly RunningErasure[], now: Date): Promise<ReplacedRows> => {
  const sum: ReplacedRows = { usage_entries: 0, audit_entries: 0, invitations: 0, outbox_mails: 0 };
  for (const erasure of erasures) {
    const replaced = await replaceRows(tx, erasure, { now, limit: LOG_LIMIT });
    for (const table of Object.keys(sum) as (keyof ReplacedRows)[]) sum[table] += replaced[table];
  }
  return sum;
};

const NO_NAMES = { handle: '', firstName: '', lastName: '' };

type Begun = { userId: number; pseudonym: string; digest: string | null; now: Date };

const addErasure = async (
  tx: Em,
  { userId, pseudonym, digest, now }: Begun,
  named: Named,
): Promise<RunningErasure> => {
  const db = kysely(tx);
  // The person was erased before: this account, or an earlier one.
  await db.updateTable('erasures').set({ digest: null }).where('digest', '=', digest).execute();
  // By Kysely, which does not write the digest into the statement's text.
  const { id } = await db
    .insertInto('erasures')
    .values({
      user_id: userId,
      pseudonym,
      digest,
      started_at: now,
      address: named.email,
      pattern: patternOf(named),
      needles: likePatternsOf(named),
      transaction_id: sql<string>`pg_current_xact_id()::text`,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const erasure = await tx.findOneOrFail(Erasure, id);
  if (!isRunning(erasure)) throw new Error('A new erasure has an address.');
  return erasure;
};

/** The row stays, because invitations refer to their inviter. */
const replaceUser = async (tx: Em, { userId: id, pseudonym }: RunningErasure, now: Date) => {
  const user = await tx.findOneOrFail(User, id, { refresh: true });
  user.erase(pseudonym, now);
  await tx.flush();
  await kysely(tx).updateTable('users').set({ password_hash: null }).where('id', '=', id).execute();
};

/** Tables whose rows belong to one user, in `user_id`. */
const OWNED_TABLES = [
  'saved_filters',
  'app_grants',
  'group_members',
  'access_requests',
  'memberships',
  'idempotent_responses',
  'launch_codes',
  'access_views',
  'operation_changes',
  'email_changes',
] as const;

const deleteAccess = async (tx: Em, { id }: LockedPerson, addresses: string[]): Promise<void> => {
  const db = kysely(tx);
  await revokeCredentials(tx, id);
  for (const table of OWNED_TABLES) await db.deleteFrom(table).where('user_id', '=', id).execute();
  await db.deleteFrom('rate_limits').where('key', 'in', addresses.flatMap(accountKeys)).execute();
};

/** How a person is named in texts. */
export type Named = { email: string; handle: string; firstName: string; lastName: string };

/**
 * Neither `xada@acme.test` nor `ada@acme.test.example` is `ada@acme.test`. Texts may be JSON or URLs, whose escapes end with
 * letters and digits.
 */
const START = String.raw`(?:(?<![[:alnum:]_.+-])|(?<=%[[:xdigit:]]{2})|(?<=\\[bfnrt])|(?<=\\u[[:xdigit:]]{4}))`;
const END = String.raw`(?![[:alnum:]_-]|\.[[:alnum:]])`;
const SPACE = String.raw`(?:[[:space:]+]|%20|\\[nrt])+`;
const COMMA_SPACE = `(?:,|%2C)${SPACE}`;

/**
 * A regular expression of PostgreSQL that finds the address, the handle, and first and last name together, also as JSON
 * or within a URL. A first or a last name alone is not searched for: it is a word, and the name of others.
 */
const patternOf = ({ email, handle, firstName, lastName }: Named): string => {
  const [first, last] = [firstName, lastName].map((name) => name.trim());
  const alternatives = [email, handle].filter(Boolean).map(formsOf);
  if (first && last)
    alternatives.push(
      `${formsOf(first)}${SPACE}${formsOf(last)}`,
      `${formsOf(last)}(?:${SPACE}|${COMMA_SPACE})${formsOf(first)}`,
    );
  else if (/\s/.test(first || last || '')) alternatives.push(formsOf(first || last || ''));
  return `${START}(?:${alternatives.join('|')})${END}`;
};

/**
 * `LIKE` patterns in lower case. Every text that the regular expression matches also matches one of them, and they are
 * tested 20 times faster.
 */
const likePatternsOf = ({ email, handle, firstName, lastName }: Named): string[] => {
  const texts = [email, handle, lastName.trim() || firstName.trim()].filter(Boolean).flatMap(variantsOf);
  // With the locale C, PostgreSQL lowers ASCII only.
  const lowered = texts.flatMap((text) => [
    text.toLowerCase(),
    text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  ]);
  return [...new Set(lowered)].map((text) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
};

/** A text as it is, as JSON, and percent-encoded. */
const variantsOf = (text: string): string[] => [
  ...new Set([text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())]),
];

const formsOf = (text: string): string => `(?:${variantsOf(text).map(escaped).join('|')})`;

/** A backslash makes any other character a literal; before a letter or digit it would start an escape. */
const escaped = (text: string): string => text.replaceAll(/[^\p{L}\p{N}\p{M}_\s]/gu, String.raw`\$&`);
