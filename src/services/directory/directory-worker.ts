import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { createQueueWorker, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { createDirectories } from './directories.ts';

/** People wait for it only after they have let a directory apply what it states. */
const POLL_MS = 2_000;
const NO_NOTIFICATIONS = { isListening: () => true, close: async () => {} };

type Deps = Pick<WorkerOptions, 'clock' | 'logger'> & {
  fork: () => Em;
  openServices: () => { directories: Pick<ReturnType<typeof createDirectories>, 'applyDue'> };
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
