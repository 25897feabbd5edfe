import { availableParallelism, cpus, totalmem } from 'node:os';
import type { Client } from 'pg';

const DAY = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** In a sentence: when, on what, with what. */
export const describeMachine = async (database: Client, others: readonly string[]): Promise<string> => {
  const { rows } = await database.query<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  const parts = [
    `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores`,
    `${Math.round(totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${rows[0]?.version ?? ''}`,
    ...others,
  ];
  return `${new Date().toLocaleDateString('en-GB', DAY)}: ${parts.join(', ')}.`;
};
