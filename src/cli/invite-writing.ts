import { problemOfDatabaseError } from '../db/database-errors.ts';
import { type Db, tables } from '../db/kysely.ts';
import { normalizeEmail } from '../lib/email-address.ts';
import { invalid, Problem } from '../lib/problems.ts';
import { type Actor, administersClient } from '../services/access/actor.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { findActorByEmail } from '../services/auth/identity.ts';
import type { CsvFault, CsvRow } from '../services/invitations/invitation-csv.ts';
import type { InvitationRow } from '../services/invitations/invitation-rows.ts';
import { invite } from '../services/invitations/invite.ts';
import { type AppNames, createElementReader, sortByEmail } from './invite-elements.ts';

/** The inviter and the client. */
export type Parties = { inviter: Actor; client: { id: number; name: string }; apps: AppNames };

/**
 * Finds the inviter, by default the first active superuser, and the client with its apps.
 * @throws Problem `invalid-input` on `--as`, `--client`
 */
export const findParties = async (em: Db, clientId: number, email: string | undefined): Promise<Parties> => {
  const inviter = await findInviter(em, email);
  const client = await tables(em)
    .selectFrom('clients')
    .select(['id', 'name'])
    .where('id', '=', clientId)
    .executeTakeFirst();
  if (!client || !administersClient(inviter, clientId)) {
    throw invalid({ '--client': [`There is no client ${clientId} to which ${inviter.email} may invite.`] });
  }
  return { inviter, client, apps: await appNames(em, clientId) };
};

const findInviter = async (em: Db, email: string | undefined): Promise<Actor> => {
  const inviter = await findActorByEmail(em, email && normalizeEmail(email));
  if (!inviter) throw invalid({ '--as': [noInviter(email)] });
  return inviter;
};

const noInviter = (email: string | undefined): string =>
  email === undefined
    ? 'There is no active superuser. Set the inviter with --as.'
    : `There is no active user ${email}.`;

/** If an id equals the slug of another app, the id wins. */
const appNames = async (em: Db, clientId: number): Promise<AppNames> => {
  const apps = await tables(em)
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
type Deps = { em: Db; invitationDays: number; now: Date };
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
  { em, invitationDays, now }: Deps,
  rows: readonly CsvRow[],
  { inviter, client, apps, dryRun, advance }: Options,
): Promise<Outcome> => {
  const outcome: Outcome = { made: 0, renewed: 0, faults: [] };
  const toElement = createElementReader(client.id, apps);
  const sorted = sortByEmail(rows);
  const clock = { now: () => now };
  const tx = em.fork();
  const deps = { em: tx, clock, audit: createAudit(NO_ORIGIN, clock), invitationDays };

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
    // After a lost connection the rollback fails too; the first error has the reason.
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
