import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { Erasure } from '../../../entities/erasure.ts';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { ERASED_DOMAIN, isPseudonym } from '../../lib/email-address.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { accountKeys } from '../auth/login-limits.ts';
import type { Transaction } from '../unit-of-work.ts';
import { usedApps } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';
import { type PersonAddress, readAllAddresses } from '../users/addresses.ts';
import { lockSuperusers, requireAnotherSuperuser } from '../users/user-locks.ts';
import { isRunning, type ReplacedRows, type RunningErasure, replaceRows } from './erased-rows.ts';
import type { AddressDigest } from './erasure-keys.ts';

/** Entries of each log that are replaced in the same transaction as the account: within a second or two. */
const LOG_LIMIT = 20_000;

type Deps = Transaction & { addressDigest: AddressDigest };

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
  const { present, verified, unverified } = await readAllAddresses(tx, person.id);
  const everywhere = { ...begun, clientIds: null };
  // In a text of anyone, a name is the person's beside their address or handle.
  const names = namesIn(person);
  const pattern = patternOf([...wordsIn([address, handle]), ...names]);
  const times = timesOf(present);
  // Late reports may be about the person who had the address before.
  const held = { ...times, address, digest: times.since ? null : digest };
  const erasure = await addErasure(tx, { ...everywhere, ...held }, { pattern, words: [address, handle] });
  const erasures = [erasure];
  for (const former of verified) {
    // Another account has the address now: late reports are about its person.
    const digest = former.until ? null : addressDigest(former.email);
    erasures.push(await addErasure(tx, { ...everywhere, ...heldBy(former), digest }, searchedFor(former)));
  }
  // An admin may have entered these addresses and the names of someone else.
  const limited = { ...begun, clientIds: person.clientIds, digest: null };
  for (const { clients, ...former } of unverified) {
    const limits = { ...limited, ...heldBy(former), clientIds: clients };
    erasures.push(await addErasure(tx, limits, searchedFor(former)));
  }
  const words = [lastName.trim() || firstName.trim()];
  if (names.length > 0)
    erasures.push(
      await addErasure(tx, { ...limited, ...held, digest: null }, { pattern: patternOf(names), words }),
    );
  if (isPseudonym(address)) await keepDigests(tx, address, pseudonym);
  await replaceUser(tx, erasure, now);
  await deleteAccess(tx, person, [...present, ...verified, ...unverified]);
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

type Begun = {
  userId: number;
  pseudonym: string;
  now: Date;
  address: string;
  digest: string | null;
  /** See `Erasure`. */
  clientIds: readonly number[] | null;
  since: Date | null;
  until: Date | null;
};

const addErasure = async (
  tx: Em,
  { userId, pseudonym, now, address, digest, clientIds, since, until }: Begun,
  { pattern, words }: Searched,
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
      address,
      client_ids: clientIds && [...clientIds],
      since,
      until,
      pattern,
      needles: likePatternsOf(words),
      transaction_id: sql`pg_current_xact_id()::text`,
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
  'mfa_factors',
  'recovery_codes',
] as const;

const deleteAccess = async (
  tx: Em,
  { id }: LockedPerson,
  addresses: readonly PersonAddress[],
): Promise<void> => {
  const db = kysely(tx);
  await revokeCredentials(tx, id);
  for (const table of OWNED_TABLES) await db.deleteFrom(table).where('user_id', '=', id).execute();
  await db
    .deleteFrom('rate_limits')
    .where(
      'key',
      'in',
      addresses.filter(({ until }) => !until).flatMap(({ email }) => accountKeys(email)),
    )
    .execute();
};

/** What is replaced in texts, and the words of which a text must have one. */
type Searched = { pattern: string; words: readonly string[] };

const searchedFor = ({ email }: PersonAddress): Searched => ({
  pattern: patternOf(wordsIn([email])),
  words: [email],
});

const heldBy = ({ email: address, since, until }: PersonAddress) => ({ address, since, until });

const timesOf = ([present]: readonly PersonAddress[]) => ({
  since: present?.since ?? null,
  until: present?.until ?? null,
});

/**
 * Neither `xada@acme.test` nor `ada@acme.test.example` is `ada@acme.test`. Texts may be JSON or URLs, whose escapes end with
 * letters and digits.
 */
const START = String.raw`(?:(?<![[:alnum:]_.+-])|(?<=%[[:xdigit:]]{2})|(?<=\\[bfnrt])|(?<=\\u[[:xdigit:]]{4}))`;
const END = String.raw`(?![[:alnum:]_-]|\.[[:alnum:]])`;
const SPACE = String.raw`(?:[[:space:]+]|%20|\\[nrt])+`;
const COMMA_SPACE = `(?:,|%2C)${SPACE}`;

/** A regular expression of PostgreSQL that finds any of these forms. */
const patternOf = (forms: readonly string[]): string => `${START}(?:${forms.join('|')})${END}`;

const wordsIn = (texts: readonly string[]): string[] => texts.filter(Boolean).map(formsOf);

/** First and last name together. One alone is not searched for: it is a word, and the name of others. */
const namesIn = (person: Pick<LockedPerson, 'first_name' | 'last_name'>): string[] => {
  const [first, last] = [person.first_name, person.last_name].map((name) => name.trim());
  if (first && last)
    return [
      `${formsOf(first)}${SPACE}${formsOf(last)}`,
      `${formsOf(last)}(?:${SPACE}|${COMMA_SPACE})${formsOf(first)}`,
    ];
  const only = first || last || '';
  return /\s/.test(only) ? [formsOf(only)] : [];
};

/**
 * `LIKE` patterns in lower case, which are tested 20 times faster than a regular expression.
 */
const likePatternsOf = (words: readonly string[]): string[] => {
  const texts = words.filter(Boolean).flatMap(variantsOf);
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

/** Without unescaped quotes: in JSON they match where one string ends and the next begins. */
const formsOf = (text: string): string =>
  `(?:${variantsOf(text)
    .filter((variant) => !/(?<!\\)"/.test(variant))
    .map(escaped)
    .join('|')})`;

/** A backslash makes any other character a literal; before a letter or digit it would start an escape. */
const escaped = (text: string): string => text.replaceAll(/[^\p{L}\p{N}\p{M}_\s]/gu, String.raw`\$&`);
