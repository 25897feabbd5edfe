import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { csvLine, csvText } from '../../lib/csv-line.ts';
import { notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { can, globalRolesOf } from '../access/permissions.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { ofUser } from '../audit/audit.ts';
import { reloadActor } from '../auth/authentication.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { EXPORT_PART_NAMES, EXPORT_PARTS, type ExportPart, type ExportRow } from './export-rows.ts';

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'audit' | 'mailWriter' | 'invitationMs'>;

/** Exports the data of people: for superusers, all of it; for the people themselves, what their present clients have recorded. */
export const createUserExports = ({ em, clock, audit, mailWriter, invitationMs }: Deps) => ({
  /**
   * Records the export, and returns a reader that reads it page by page. While it is read, it may fail with `unauthenticated`.
   * @param actor null for the operator at the command line
   * @throws Problem `not-found`, `forbidden`, `reauthentication-required`
   */
  open: async (actor: Actor | null, email: string) => {
    const now = clock.now();
    const person = await findPerson(em, actor, email);
    if (actor) requireConfirmedSession(actor, now);
    const clients = await clientIdsOf(em, person.id);
    await audit.record(em, [{ action: 'user.export', actor, target: ofUser({ ...person, email }), clients }]);

    const isForPerson = actor !== null && globalRolesOf(actor).length === 0;
    const about = { ...person, email, clients, isForPerson };
    const exported = { em, person: about, now, mailWriter, invitationMs };
    const read: ReadPart = async function* (part) {
      for await (const rows of EXPORT_PARTS[part](exported)) {
        if (actor) await requireAccess(em, actor, about);
        yield rows;
      }
    };
    return {
      pages: async function* () {
        for (const part of EXPORT_PART_NAMES) for await (const items of read(part)) yield { part, items };
      },
      archive: () => Readable.from(zipParts(read, { email, now }), { objectMode: false }),
    };
  },
});

/**
 * Client admins may not export: they see parts of a person's data in lists, and a file of these parts would look complete. The operator
 * answers requests of people for their data.
 */
const findPerson = async (em: Em, actor: Actor | null, email: string) => {
  const users = kysely(em).selectFrom('users').select('id').where('email', '=', email);
  const visible = actor ? users.where(userVisibleTo(actor)) : users;
  const person = await visible.executeTakeFirstOrThrow(() => notFound('user'));
  if (!mayExport(actor, person.id)) throw roleRequired('superuser, except for your own data');
  return person;
};

const mayExport = (actor: Actor | null, personId: number): boolean =>
  actor === null || can(actor, 'administer') || actor.id === personId;

type ExportedPerson = { id: number; clients: readonly number[]; isForPerson: boolean };

/**
 * Requires that the reader may still read, and that people who export their own data have not left a client.
 * @throws Problem `unauthenticated`
 */
const requireAccess = async (
  em: Em,
  actor: Actor,
  { id, clients, isForPerson }: ExportedPerson,
): Promise<void> => {
  const current = await reloadActor(em, actor);
  const present = isForPerson ? await clientIdsOf(em, id) : clients;
  const hasLeft = clients.some((client) => !present.includes(client));
  if (!current || !mayExport(current, id) || hasLeft) throw new Problem('unauthenticated');
};

type Pages = AsyncIterable<ExportRow[]>;

/** Each call reads the part again. */
type ReadPart = (part: ExportPart) => Pages;

const README = (email: string, now: Date): string => `Data of ${email}, exported on ${now.toISOString()}.

Each part is a JSON file, an array of objects, and a CSV file with the same rows, for spreadsheets. In CSV, a text that a
spreadsheet would take for a formula starts with an apostrophe. Times are UTC.

Passwords, tokens, recovery codes, the secrets of sessions and second factors, and the links of mails are not part of the export.
`;

/**
 * A zip archive of the parts as JSON and as CSV. Each file is read only when its turn comes, at the speed at which the archive is read, so
 * that any number of rows takes the memory of one page.
 */
async function* zipParts(
  read: ReadPart,
  { email, now }: { email: string; now: Date },
): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const { outputStream: output } = zip;
  // Its type does not say that it can be destroyed.
  if (!(output instanceof Readable)) throw new TypeError('The output of yazl is a stream of Node.');
  let current: Readable | undefined;
  const add = (name: string, open: () => AsyncIterable<string>): void =>
    zip.addReadStreamLazy(name, { mtime: now }, (start) => {
      current = Readable.from(open());
      // yazl does not handle this event.
      current.on('error', (error) => output.destroy(error));
      start(null, current);
    });
  zip.on('error', (error: Error) => output.destroy(error));
  zip.addBuffer(Buffer.from(README(email, now)), 'README.txt', { mtime: now });
  for (const part of EXPORT_PART_NAMES) {
    add(`${part}.json`, () => toJson(read(part)));
    add(`${part}.csv`, () => toCsv(read(part)));
  }
  zip.end();
  try {
    yield* output;
  } finally {
    // The reader may have disconnected.
    current?.destroy();
  }
}

async function* toJson(pages: Pages): AsyncGenerator<string> {
  let prefix = '[\n';
  for await (const rows of pages) {
    if (rows.length === 0) continue;
    yield prefix + rows.map((row) => JSON.stringify(row)).join(',\n');
    prefix = ',\n';
  }
  yield prefix === '[\n' ? '[]\n' : '\n]\n';
}

/** Without rows, the file is empty. */
async function* toCsv(pages: Pages): AsyncGenerator<string> {
  let isFirst = true;
  for await (const rows of pages) {
    const lines = rows.map((row) => csvLine(Object.values(row).map(csvText)));
    if (isFirst && rows[0]) lines.unshift(csvLine(Object.keys(rows[0])));
    isFirst = false;
    yield lines.join('');
  }
}
