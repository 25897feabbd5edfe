import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { RawRow } from '../../db/json-stream/binary-row-reader.ts';
import { type ColumnWriter, eachElement } from '../../db/json-stream/column-encoders.ts';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';

type SeenApp = { key: number; rank: number; isSeen: boolean; json: Buffer };

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
/** Ids have eight letters and digits, which are 75 characters apart: as digits of a number to that base they fit a double. */
const BASE = 75;
const ZERO = 0x30;

/**
 * Writes the apps of users: sorted by age, and those alone that the actor may see. There are few apps and many users, so this
 * is done by a table of all apps, read once, in place of a join for each user.
 */
export const seenApps = async (em: SqlEntityManager, actor: Actor) => {
  const apps = await tables(em)
    .selectFrom('apps')
    .select(['id', clientVisibleTo(actor, sql`client_id`).as('is_seen')])
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const byKey = new Map<number, SeenApp>();
  for (const [rank, { id, is_seen: isSeen }] of apps.entries()) {
    const key = keyOf(Buffer.from(id), 0);
    byKey.set(key, { key, rank, isSeen, json: Buffer.from(JSON.stringify(id)) });
  }
  let seesEverything = false;
  let isOutdated = false;
  const found: SeenApp[] = [];

  const visit = ({ bytes }: RawRow, from: number) => {
    const app = byKey.get(keyOf(bytes, from));
    if (!app) isOutdated = true;
    else if (seesEverything || app.isSeen) insert(found, app);
  };
  const write: ColumnWriter = (row, out) => {
    found.length = 0;
    eachElement(row, visit);
    out.byte(OPEN_BRACKET);
    for (let index = 0; index < found.length; index += 1) {
      if (index > 0) out.byte(COMMA);
      out.put((found[index] as SeenApp).json); // below the length
    }
    out.byte(CLOSE_BRACKET);
  };
  return {
    /** Writes the next column, the ids of a user's apps. */
    write,
    /** Of oneself one sees everything. */
    ofOneself: (isOneself: boolean): void => {
      seesEverything = isOneself;
    },
    /** Whether a user had an app that is younger than this table. */
    isOutdated: (): boolean => isOutdated,
  };
};

const keyOf = (bytes: Uint8Array, from: number): number => {
  let key = 0;
  for (let at = from; at < from + 8; at += 1) key = key * BASE + (bytes[at] as number) - ZERO; // ids have eight
  return key;
};

/** Most users have a few apps. */
const insert = (found: SeenApp[], app: SeenApp): void => {
  let at = found.push(app) - 1;
  for (; at > 0; at -= 1) {
    const before = found[at - 1] as SeenApp; // not below 0
    if (before.rank < app.rank) break;
    found[at] = before;
  }
  found[at] = app;
};
