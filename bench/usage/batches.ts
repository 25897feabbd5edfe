import type { Client } from 'pg';

export const BATCH_ENTRIES = 1_000;
const BATCHES_PER_APP = 4;
/** Of the batch: a platform sends what has happened in some seconds. */
const STEP_MS = 5;

/** Stands where an entry's time is to be written; as long as one. */
const PLACEHOLDER = '0000-00-00T00:00:00.000Z';

/** Bodies for an app, made of entries that its log has; only the times are left open. */
export const makeBodies = async (database: Client, appId: string): Promise<string[]> => {
  const { rows } = await database.query<{ entry: string }>(
    `select json_build_object('email', email, 'full_name', full_name, 'timestamp', $2::text, 'action', action,
      'action_description', action_description, 'extra', extra)::text as entry
    from usage_entries where app_id = $1 order by occurred_at desc, id desc limit $3`,
    [appId, PLACEHOLDER, BATCH_ENTRIES * BATCHES_PER_APP],
  );
  if (rows.length === 0) throw new Error(`The app ${appId} has no log to take entries from.`);
  return Array.from({ length: BATCHES_PER_APP }, (_, batch) => {
    const entries = Array.from(
      { length: BATCH_ENTRIES },
      (_entry, index) => rows[(batch * BATCH_ENTRIES + index) % rows.length]?.entry,
    );
    return `[${entries.join(',')}]`;
  });
};

export type Batch = { body: Buffer; places: number[] };

export const makeBatch = (text: string): Batch => {
  const body = Buffer.from(text);
  const places: number[] = [];
  for (let at = body.indexOf(PLACEHOLDER); at >= 0; at = body.indexOf(PLACEHOLDER, at + 1)) places.push(at);
  return { body, places };
};

/** Writes the times of a batch that has just ended. */
export const stampBatch = ({ body, places }: Batch, now: number): void => {
  places.forEach((place, index) => {
    body.write(new Date(now - (places.length - 1 - index) * STEP_MS).toISOString(), place, 'latin1');
  });
};
