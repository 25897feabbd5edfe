import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { Extra, NewEmail, PersonName } from '../../routers/schemas/fields.ts';
import { AppIds } from '../../routers/schemas/keys.ts';
import type { Config } from '../config/config.ts';
import { problemOfDatabaseError } from '../db/database-errors.ts';
import { type Em, kysely } from '../db/kysely.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import { reasonOf } from '../lib/errno.ts';
import { parseJson } from '../lib/exact-json.ts';
import { formatCount } from '../lib/operator-text.ts';
import { type FieldErrors, invalid, Problem } from '../lib/problems.ts';
import { type Actor, administersClient } from '../services/access/actor.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { findActorByEmail } from '../services/auth/authentication.ts';
import { type CsvFault, type CsvRow, readInvitationCsv } from '../services/invitations/invitation-csv.ts';
import type { InvitationRow } from '../services/invitations/invitation-rows.ts';
import { type InvitationElement, invite } from '../services/invitations/invite.ts';
import { withDatabase } from './database-work.ts';
import type { InviteArguments } from './people.ts';
import { checkFiles, createProgress, shown, sortByLine, summarizeErrors, writeReport } from './reports.ts';
import { printLines } from './run-work.ts';

type InviteOptions = InviteArguments & { report: string };

/**
 * Invites all people in a CSV file, or none if there are errors, and prints a summary.
 * @returns whether the file was accepted
 * @throws Problem `invalid-input`
 */
export const invitePeople = async (config: Config, file: string, options: InviteOptions) => {
  await checkFiles(await stat(file), options.report);
  const { rows, faults, nameOf } = await readInvitationCsv(createReadStream(file));
  if (rows.length === 0 && faults.length > 0) return reject(faults, options);

  const { outcome, ...parties } = await checkOrInvite(config, rows, options, faults.length > 0);
  const all = [...faults, ...outcome.faults.map((fault) => ({ ...fault, field: nameOf(fault.field) }))];
  if (all.length > 0) return reject(all, options);
  printLines(successLines(outcome, parties, options, config));
  return true;
};

/** Also checks the rows of a rejected file, to report all errors at once. */
const checkOrInvite = (config: Config, rows: CsvRow[], options: InviteOptions, isRejected: boolean) =>
  withDatabase(config, async ({ orm, clock }) => {
    const { client, as, dryRun = false } = options;
    using bar = createProgress(dryRun ? 'Checking' : 'Inviting', rows.length);
    const parties = await findParties(orm.em.fork(), client, as);
    const outcome = await inviteRows(
      { em: orm.em.fork(), invitationMs: config.invitationMs, now: clock.now() },
      rows,
      { ...parties, dryRun: dryRun || isRejected, advance: bar.advance },
    );
    return { ...parties, outcome };
  });

const reject = async (unsorted: readonly CsvFault[], { report, dryRun }: InviteOptions): Promise<false> => {
  const faults = sortByLine(unsorted);
  const result = await writeReport(report, faults).then(
    () => `see ${report}`,
    (error: unknown) => `the report cannot be written (${reasonOf(error)}): name another file with --report`,
  );
  const summary = `${formatCount(faults.length, 'error')}; ${result}. No one ${dryRun ? 'would be' : 'was'} invited.`;
  process.stderr.write(`${[...summarizeErrors(faults), summary].join('\n')}\n`);
  return false;
};

const successLines = (
  { made, renewed }: Outcome,
  { inviter, client }: Parties,
  { dryRun }: InviteOptions,
  { mailServerUrl }: Config,
): string[] => [
  `${shown(client.name)}: ${made} ${dryRun ? 'would be ' : ''}invited, ${renewed} renewed, by ${inviter.email}.`,
  dryRun ? 'This was a dry run: nothing was changed.' : mailServerUrl ? QUEUED : WAITING,
];

const QUEUED = 'The mails are queued. The running service sends them, or the next one that starts.';
const WAITING =
  'The mails wait in the queue, because there is no mail server: SMTP_URL is not set. Until the service has one, the console shows them.';

export type Parties = { inviter: Actor; client: { id: number; name: string }; apps: AppNames };

/**
 * Finds the inviter, by default the first active superuser, and the client with its apps.
 * @throws Problem `invalid-input` on `--as`, `--client`
 */
export const findParties = async (em: Em, clientId: number, email: string | undefined): Promise<Parties> => {
  const inviter = await findActorByEmail(em, email && normalizeEmail(email));
  if (!inviter) {
    const isNamed = email !== undefined;
    throw invalid({ '--as': [isNamed ? `There is no active user ${email}.` : NO_SUPERUSER] });
  }
  const client = await kysely(em)
    .selectFrom('clients')
    .select(['id', 'name'])
    .where('id', '=', clientId)
    .executeTakeFirst();
  if (!client || !administersClient(inviter, clientId)) {
    throw invalid({ '--client': [`There is no client ${clientId} to which ${inviter.email} may invite.`] });
  }
  return { inviter, client, apps: await appNames(em, clientId) };
};

const NO_SUPERUSER = 'There is no active superuser. Set the inviter with --as.';

/** If an id equals the slug of another app, the id wins. */
const appNames = async (em: Em, clientId: number): Promise<AppNames> => {
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['id', 'slug'])
    .where('client_id', '=', clientId)
    .execute();
  return new Map([
    ...apps.map(({ id, slug }) => [slug, id] as const),
    ...apps.map(({ id }) => [id, id] as const),
  ]);
};

export type Outcome = { made: number; renewed: number; faults: CsvFault[] };
type Deps = { em: Em; invitationMs: number; now: Date };
type Options = Parties & { dryRun: boolean; advance: (rows: number) => void };

/**
 * Rows per call of the service. A call reports up to 1,000 errors: five for each row, which has four columns. This also
 * bounds the memory of a statement.
 */
const CHUNK_ROWS = 200;

/**
 * Invites all or none in one transaction, which a dry run rolls back. Rows are sorted by address, the order in which all
 * bulk operations lock, to prevent deadlocks.
 * @throws Problem `overloaded`, `database-unavailable`
 */
export const inviteRows = async (
  { em, invitationMs, now }: Deps,
  rows: readonly CsvRow[],
  { inviter, client, apps, dryRun, advance }: Options,
): Promise<Outcome> => {
  const outcome: Outcome = { made: 0, renewed: 0, faults: [] };
  const toElement = createElementReader(client.id, apps);
  const sorted = sortByEmail(rows);
  const clock = { now: () => now };
  const tx = em.fork();
  const deps = { em: tx, clock, audit: createAudit(NO_ORIGIN, clock), invitationMs };

  await tx.begin();
  try {
    for (let start = 0; start < sorted.length; start += CHUNK_ROWS) {
      const chunk = sorted.slice(start, start + CHUNK_ROWS);
      await invite(deps, inviter, chunk.map(toElement)).then(
        (invitations) => count(outcome, invitations, now),
        (error) => outcome.faults.push(...faultsIn(error, chunk)),
      );
      advance(chunk.length);
    }
    await (dryRun || outcome.faults.length > 0 ? tx.rollback() : tx.commit());
    return outcome;
  } catch (error) {
    // After a lost connection, the rollback fails too. The first error has the reason.
    await tx.rollback().catch(() => undefined);
    throw problemOfDatabaseError(error) ?? error;
  }
};

/** A renewed invitation keeps the date of its first mail. */
const count = (outcome: Outcome, invitations: readonly InvitationRow[], now: Date): void => {
  const made = invitations.filter((row) => row.date_invited.getTime() === now.getTime()).length;
  outcome.made += made;
  outcome.renewed += invitations.length - made;
};

const ITEM_PATH = /^items\.(\d+)\.(.+)$/;

/** Maps the paths of the service's errors to lines and columns. */
const faultsIn = (error: unknown, chunk: readonly CsvRow[]): CsvFault[] => {
  if (!(error instanceof Problem) || !error.fields) throw error;
  return Object.entries(error.fields).flatMap(([path, messages]) => {
    const [, index, key = path] = ITEM_PATH.exec(path) ?? [];
    const row = chunk[Number(index)];
    const field = key === 'initial_apps' ? 'apps' : key;
    const email = row?.cells.email ?? '';
    return messages.map((message) => ({ line: row?.line ?? 0, email, field, message }));
  });
};

/** Maps ids and slugs of apps to ids. */
type AppNames = ReadonlyMap<string, string>;

/** Groups rows by address; within an address, by line. */
export const sortByEmail = (rows: readonly CsvRow[]): CsvRow[] =>
  rows
    .map((row) => ({ row, address: addressOf(row) }))
    .sort((a, b) => (a.address === b.address ? a.row.line - b.row.line : a.address < b.address ? -1 : 1))
    .map(({ row }) => row);

/**
 * Validates rows in the order of their addresses, with the schemas and messages of the API. The valid fields of a row with
 * errors are kept, so that the service can report further errors.
 */
export const createElementReader = (client: number, apps: AppNames) => {
  let first: CsvRow | undefined;

  return (row: CsvRow): InvitationElement => {
    const faults: FieldErrors = {};
    const email = validate(faults, 'email', NewEmail, row.cells.email || undefined);
    const item = {
      client,
      first_name: validate(faults, 'first_name', PersonName.optional(), row.cells.first_name || undefined),
      last_name: validate(faults, 'last_name', PersonName.optional(), row.cells.last_name || undefined),
      initial_apps: readApps(faults, row.cells.apps, apps),
      is_demo_user: validate(faults, 'is_demo_user', DemoFlag, row.cells.is_demo_user.toLowerCase()),
      extra: readExtra(faults, row.cells.extra),
    };
    // Files for the REST interface name the client in each row.
    if (row.cells.client !== '' && row.cells.client !== String(client))
      faults.client = [`Must be ${client}, the client of --client, or empty.`];
    if (email === undefined) return { value: null, faults };

    if (first && addressOf(first) === email) {
      faults.email = [`Line ${first.line} already invites this address.`];
      return { value: null, faults };
    }
    first = row;
    return { value: { ...item, email }, faults };
  };
};

const addressOf = (row: CsvRow): string => normalizeEmail(row.cells.email);

/** Converted to lower case first: spreadsheets write TRUE. */
const DemoFlag = z
  .enum(['true', 'false', ''], 'Must be "true" or "false".')
  .transform((text) => (text === '' ? undefined : text === 'true'));

const validate = <T>(faults: FieldErrors, column: string, schema: z.ZodType<T>, input: unknown) => {
  const { success, data, error } = schema.safeParse(input);
  if (!success) faults[column] = error.issues.map(({ message }) => message);
  return data;
};

/** The service's limit per element. */
const MAX_UNKNOWN_APPS = 10;

const readApps = (faults: FieldErrors, cell: string, apps: AppNames): string[] => {
  // Also accepts a JSON array, as in CSV lists of invitations.
  const names = cell.split(/[\s,;"[\]]+/).filter(Boolean);
  const unknown = names.filter((name) => !apps.has(name)).slice(0, MAX_UNKNOWN_APPS);
  if (unknown.length > 0) faults.apps = unknown.map((name) => `This client has no app ${name}.`);
  const ids = names.flatMap((name) => apps.get(name) ?? []);
  return validate(faults, 'apps', AppIds, ids) ?? [];
};

const readExtra = (faults: FieldErrors, cell: string): Record<string, unknown> | undefined => {
  if (cell === '') return undefined;
  try {
    return validate(faults, 'extra', Extra, parseJson(cell));
  } catch (_invalidJson) {
    faults.extra = ['Must be a JSON object, such as {"team": "sales"}.'];
    return undefined;
  }
};
