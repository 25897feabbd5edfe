import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { createQueueWorker, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { applyGroup } from './apply-group.ts';
import { applyPerson } from './apply-person.ts';
import { actingFor, GROUP_CHANGE, GROUP_TABLES, PERSON_TABLES, personChange } from './directory-rows.ts';
import { rethrowAsNotUnique } from './stored.ts';

/** Applies in the background what a directory has stated before its changes took effect. */

/** Rows that are applied in one step of a worker. */
const STEP = 20;

export const forgetDue = async (tx: Em, client: number): Promise<void> => {
  for (const table of ['directory_people', 'directory_groups'] as const)
    await kysely(tx)
      .updateTable(table)
      .set({ due_at: null, problem: null })
      .where('client_id', '=', client)
      .where((row) => row.or([row('due_at', 'is not', null), row('problem', 'is not', null)]))
      .execute();
};

/** Lets a worker apply what is not as the directory states it: everything, or only data of members. */
export const markDue = async (
  tx: Em,
  client: number,
  now: Date,
  { isWhole }: { isWhole: boolean },
): Promise<void> => {
  const isDue = isWhole ? sql`is not null` : sql`= 'update'`;
  await sql`
    update directory_people set due_at = ${now}::timestamptz, problem = null where id in (
      select d.id from ${PERSON_TABLES} where d.client_id = ${client} and ${personChange(now)} ${isDue})`.execute(
    kysely(tx),
  );
  if (!isWhole) return;
  await sql`
    update directory_groups set due_at = ${now}::timestamptz, problem = null where id in (
      select g.id from ${GROUP_TABLES} where g.client_id = ${client} and ${GROUP_CHANGE} is not null)`.execute(
    kysely(tx),
  );
};

/** Applies some of what is due. Returns how many rows it has looked at. For any number of workers. */
export const applyDue = async (unit: UnitOfWork): Promise<number> => {
  for (let count = 0; count < STEP; count++) {
    const isFound =
      (await applyNext(unit, 'directory_people')) || (await applyNext(unit, 'directory_groups'));
    if (!isFound) return count;
  }
  return STEP;
};

type DueTable = 'directory_people' | 'directory_groups';

/** Applies the row that is due first, unless another worker does. Returns whether there was one. */
const applyNext = async (unit: UnitOfWork, table: DueTable): Promise<boolean> => {
  let next: { id: string } | undefined;
  try {
    await unit.em.transactional(async (tx) => {
      const row = await kysely(tx)
        .selectFrom(table)
        .select(['id', 'client_id', 'stated_by', 'due_at'])
        .where('due_at', '<=', unit.clock.now())
        .orderBy('due_at')
        .limit(1)
        .forUpdate()
        .skipLocked()
        .executeTakeFirst();
      next = row;
      if (!row) return;
      const stated = kysely(tx).selectFrom('users').select(['id', 'email']).where('id', '=', row.stated_by);
      const directory = actingFor(row.client_id, await stated.executeTakeFirstOrThrow());
      const audit = unit.audit.withDetails({ operation: operationOf(row) });
      const inner = { ...unit, em: tx, audit };
      if (table === 'directory_groups') await applyGroup(inner, directory, row.id);
      else await applyPerson(inner, { ...directory, isApproved: true }, row.id);
      await kysely(tx).updateTable(table).set({ due_at: null }).where('id', '=', row.id).execute();
    });
  } catch (error) {
    if (next === undefined) throw error;
    const problem = explain(error);
    if (problem === null)
      unit.logger.warn({ err: error, row: next.id }, 'a row of a directory cannot be applied');
    else if (problem.status >= 500) throw error;
    const reason = problem
      ? [problem.message, ...Object.values(problem.fields ?? {}).flat()].join(' ')
      : UNEXPECTED;
    await kysely(unit.em)
      .updateTable(table)
      .set({ due_at: null, problem: reason.slice(0, 500) })
      .where('id', '=', next.id)
      .execute();
  }
  return next !== undefined;
};

/** What became due at one time is one operation, whichever workers apply it. As a UUID, like those of other operations. */
const operationOf = ({ client_id, due_at }: { client_id: number; due_at: Date | null }): string =>
  createHash('sha256')
    .update(`directory ${client_id} ${due_at?.toISOString()}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

const UNEXPECTED = 'An unexpected error occurred, which the log of the service describes.';

/** The problem that an error is for admins; null for a bug. */
const explain = (error: unknown): Problem | null => {
  try {
    return rethrowAsNotUnique(error);
  } catch (explained) {
    return explained instanceof Problem ? explained : problemOfDatabaseError(explained);
  }
};

/** People wait for it only after they have let a directory apply what it states. */
const POLL_MS = 2_000;
const NO_NOTIFICATIONS = { isListening: () => true, close: async () => {} };

type Deps = Pick<WorkerOptions, 'clock' | 'logger'> & {
  fork: () => Em;
  openServices: () => { directories: { applyDue: () => Promise<number> } };
};

/** Applies in the background what directories have stated before their changes took effect. */
export const createDirectoryWorker = ({ fork, openServices, clock, logger }: Deps) =>
  createQueueWorker(
    {
      name: 'directory',
      maxInFlight: 1,
      claim: async () => ({ claimed: [], found: await openServices().directories.applyDue() }),
      release: async () => {},
      deliver: async () => {},
      msUntilDue: () => msUntilDue(fork(), clock.now()),
      close: () => {},
    },
    { clock, logger, listen: () => NO_NOTIFICATIONS, pollMs: POLL_MS },
  );

const msUntilDue = async (em: Em, now: Date): Promise<number | null> => {
  const due = sql<Date | null>`least((select min(due_at) from directory_people), (select min(due_at) from directory_groups))`;
  const { at } = await kysely(em).selectNoFrom(due.as('at')).executeTakeFirstOrThrow();
  return at ? at.getTime() - now.getTime() : null;
};
