import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { Erasure } from '../../../entities/erasure.ts';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { ERASED_DOMAIN, isPseudonym } from '../../lib/email-address.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { ofUser } from '../audit/audit.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { deleteCounts } from '../auth/login-limits.ts';
import type { Transaction } from '../unit-of-work.ts';
import { isUsageOf, usedApps } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';
import { lockSuperusers, requireAnotherSuperuser } from '../users/user-locks.ts';
import { type ErasedAddress, readErasedAddresses, readKnownTo } from './erased-addresses.ts';
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
 * @returns the pseudonym
 */
export const eraseAccount = async (
  { tx, now, audit, addressDigest }: Deps,
  actor: Actor | null,
  person: LockedPerson,
): Promise<string> => {
  // Writers of usage hold these until they commit, and see the erasure afterwards.
  for (const appId of await usedApps(tx, isUsageOf(person.id, [person.email])))
    await lockUsage(appId).execute(kysely(tx));
  const pseudonym = `erased-${randomBytes(8).toString('hex')}@${ERASED_DOMAIN}`;
  const { present, former } = await readErasedAddresses(tx, person);
  const erasures: RunningErasure[] = [];
  const begin = async (held: ErasedAddress, searched: Searched, isRecognized: boolean): Promise<void> => {
    const recognized = isRecognized ? await recognize(tx, held, addressDigest) : UNRECOGNIZED;
    const begun = { userId: person.id, pseudonym, now, ...recognized };
    erasures.push(await addErasure(tx, held, searched, begun));
  };
  const own = [person.email, person.handle];
  const names = namesIn(person);
  // First, and with the address: it is what shows that a name in a text of a client itself is the person's.
  if (names.length > 0) {
    const words = [...own, person.last_name.trim() || person.first_name.trim()];
    const searched = { forms: [...wordsIn(own), ...names], words };
    await begin({ ...present, clientIds: person.clientIds }, searched, false);
  }
  // Late reports may be about the person who had the address before.
  await begin(present, { forms: wordsIn(own), words: own }, !present.since);
  // If another account has a former address now, late reports are about its person.
  for (const held of former) {
    const searched = { forms: wordsIn([held.email]), words: [held.email] };
    await begin(held, searched, held.clientIds === null && !held.until);
  }
  if (isPseudonym(person.email)) await keepDigests(tx, person.email, pseudonym);
  await replaceUser(tx, person.id, pseudonym, now);
  await deleteAccess(tx, person, [present, ...former]);
  const details = await replaceAll(tx, erasures, now);
  await lockAccessChange(tx, person.id, actor);
  const clients = person.clientIds;
  await audit.record(tx, [
    { action: 'user.erase', actor, target: ofUser({ id: person.id, email: pseudonym }), clients, details },
  ]);
  return pseudonym;
};

/** By what later records of an address are recognized, and in which clients. */
type Recognized = { digest: string | null; knownTo: readonly number[] };

const UNRECOGNIZED: Recognized = { digest: null, knownTo: [] };

/** Of a person who was erased before, the digest moves from the earlier erasure to the new one. */
const recognize = async (
  tx: Em,
  address: ErasedAddress,
  addressDigest: AddressDigest,
): Promise<Recognized> => {
  const knownTo = await readKnownTo(tx, address);
  if (!isPseudonym(address.email)) return { digest: addressDigest(address.email), knownTo };
  const earlier = kysely(tx)
    .selectFrom('erasures')
    .select(['digest', 'known_to'])
    .where('pseudonym', '=', address.email);
  const kept = await earlier.where('digest', 'is not', null).orderBy('id').executeTakeFirst();
  return { digest: kept?.digest ?? null, knownTo: [...new Set([...knownTo, ...(kept?.known_to ?? [])])] };
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

/** What is replaced in texts, as forms of a regular expression, and the words of which a text must have one. */
type Searched = { forms: readonly string[]; words: readonly string[] };

type Begun = Recognized & { userId: number; pseudonym: string; now: Date };

const addErasure = async (
  tx: Em,
  { email, clientIds, since, until }: ErasedAddress,
  { forms, words }: Searched,
  { userId, pseudonym, now, digest, knownTo }: Begun,
): Promise<RunningErasure> => {
  if (digest !== null) await supersede(tx, digest, knownTo);
  // By Kysely, which does not write the digest into the statement's text.
  const { id } = await kysely(tx)
    .insertInto('erasures')
    .values({
      user_id: userId,
      pseudonym,
      digest,
      known_to: [...knownTo],
      started_at: now,
      address: email,
      client_ids: clientIds,
      since,
      until,
      pattern: patternOf(forms),
      needles: likePatternsOf(words),
      transaction_id: sql`pg_current_xact_id()::text`,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const erasure = await tx.findOneOrFail(Erasure, id);
  if (!isRunning(erasure)) throw new Error('A new erasure has an address.');
  return erasure;
};

/** The address was erased before: with this account, or with an earlier one, which may have been one of other clients. */
const supersede = async (tx: Em, digest: string, knownTo: readonly number[]): Promise<void> => {
  const others = sql`array(select unnest(known_to) except select unnest(${[...knownTo]}::int[]))`;
  await sql`
    update erasures set known_to = ${others}, digest = case when ${others} <> '{}' then digest end
    where digest = ${digest}`.execute(kysely(tx));
};

/** The row stays, because invitations refer to their inviter. */
const replaceUser = async (tx: Em, id: number, pseudonym: string, now: Date) => {
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
  'external_identities',
  'recovery_codes',
] as const;

const deleteAccess = async (tx: Em, { id }: LockedPerson, addresses: readonly ErasedAddress[]) => {
  const db = kysely(tx);
  await revokeCredentials(tx, id);
  for (const table of OWNED_TABLES) await db.deleteFrom(table).where('user_id', '=', id).execute();
  for (const { email, until } of addresses) if (!until) await deleteCounts(tx, email);
};

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
