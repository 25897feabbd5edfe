import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import fc from 'fast-check';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type pg from 'pg';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import {
  createListReader,
  type ListChunk,
  type OpenList,
  type ReadList,
  type RowEncoder,
} from '../../src/db/list-pages.ts';
import { suite } from '../support/suite.ts';
import { connectToDatabase } from '../support/tcp.ts';
import { createTestDatabase, createTestPool, type TestDatabase } from '../support/test-database.ts';
import { queryOnce } from '../support/test-server.ts';
import { withStoppedTimers } from '../support/timers.ts';

type Em = Kysely<Record<string, never>>;
type Context = { database: TestDatabase; pool: pg.Pool; db: Em; readList: ReadList };
const lists = suite<Context>('listPages');

/** Of a query. */
const LIMIT_MS = 30_000;

lists.before(async (context) => {
  context.database = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next query.
  context.pool = createTestPool(context.database.connection, { max: 1, limitMs: LIMIT_MS });
  // Only the tests end it.
  context.pool.options.idleTimeoutMillis = 0;
  context.db = new Kysely({ dialect: new PostgresDialect({ pool: context.pool }) });
  context.readList = createListReader(context.pool);
});
lists.after(async ({ pool, database }) => {
  await pool.end();
  await database.drop();
});

const asJson = (columns: readonly string[]): RowEncoder => ({
  columns,
  encoding: 'latin1',
  start: '[',
  separator: ',',
  end: ']',
  encode: (row) => JSON.stringify(row.slice(0, columns.length)),
});

/** The numbers up to a total, each with a text of that many characters. */
const numbers = (db: Em, total: number, lengthOf = '1', encoder = asJson(['n', 'filler'])): OpenList => ({
  encoder,
  page: (after, limit) =>
    db
      .selectFrom(
        sql<{ n: number }>`generate_series(${Number(after?.[0] ?? 0)}::int + 1, ${total}::int)`.as<'n'>(
          sql`n`,
        ),
      )
      .select([sql`n`.as('n'), sql`repeat('x', (${sql.raw(lengthOf)})::int)`.as('filler'), sql`n`.as('key')])
      .orderBy(sql`n`)
      .limit(limit),
});

const open = (readList: ReadList, list: OpenList) => readList(list, async () => list);

const collect = async (pages: AsyncIterable<ListChunk>): Promise<ListChunk[]> => {
  const all: ListChunk[] = [];
  for await (const page of pages) all.push(page);
  return all;
};
const textOf = (pages: readonly ListChunk[]): string =>
  Buffer.concat(pages.flatMap(({ texts }) => texts)).toString();
const MEGABYTE = 1024 * 1024;
const sizeOf = (page: ListChunk | undefined): number => (page ? textOf([page]).length : 0);
const numbersOf = (pages: readonly ListChunk[]): number[] =>
  JSON.parse(textOf(pages)).map(([n]: [string]) => Number(n));
const upTo = (total: number): number[] => Array.from({ length: total }, (_, index) => index + 1);

for (const [name, lengthOf] of Object.entries({
  'one byte': '1',
  '500 bytes': '500',
  'mixed sizes': '(n % 97) * (n % 97)',
  '64 KB': '64 * 1024',
})) {
  lists(`returns each row once and in order: rows of ${name}`, async ({ db, readList }) => {
    for (const total of lengthOf.startsWith('64') ? [60] : [0, 1, 2_000, 2_001, 2_500]) {
      const pages = await collect(open(readList, numbers(db, total, lengthOf)));

      assert.equal(numbersOf(pages), upTo(total));
      assert.equal(
        pages.map(({ isLast }) => isLast),
        pages.map((_, index) => index === pages.length - 1),
      );
    }
  });
}

lists('starts with a header and ends without a mark, as CSV does', async ({ db, readList }) => {
  const csv: RowEncoder = {
    ...asJson([]),
    encoding: 'utf8',
    start: 'n\n',
    separator: '',
    end: '',
    encode: ([n]) => `${n}\n`,
  };
  const texts: string[] = [];
  for (const total of [0, 2]) {
    const list = { ...numbers(db, total), encoder: { ...csv, columns: ['n', 'filler'] } };
    texts.push(textOf(await collect(open(readList, list))));
  }

  assert.equal(texts, ['n\n', 'n\n1\n2\n']);
});

lists('limits the bytes of a page, however large the rows are', async ({ db, readList }) => {
  const pages = await collect(open(readList, numbers(db, 100, '64 * 1024')));
  const largest = Math.max(...pages.map((page) => textOf([page]).length));

  assert.ok(largest <= 2.25 * MEGABYTE, `${largest} bytes`);
});

lists('shares the bytes of pages among all lists that are being read', async ({ db, readList }) => {
  const others = Array.from({ length: 63 }, () => open(readList, numbers(db, 5_000)));
  for (const other of others) await other.next();
  const pages = await collect(open(readList, numbers(db, 5_000, '1000')));
  for (const other of others) await other.return(undefined);
  for (let count = 0; count < 100; count += 1) await open(readList, numbers(db, 1)).next();
  const alone = await collect(open(readList, numbers(db, 5_000, '1000')));

  assert.ok(sizeOf(pages[1]) < 0.2 * MEGABYTE, `${sizeOf(pages[1])} bytes beside 63 others`);
  assert.ok(sizeOf(alone[1]) > 0.9 * MEGABYTE, `${sizeOf(alone[1])} bytes alone`);
});

lists('asks for pages of as many rows as fit, and for each when it is read', async ({ db, readList }) => {
  const limits: number[] = [];
  const list = numbers(db, 5_000, '1000');
  const { page } = list;
  list.page = (after, limit) => {
    limits.push(limit);
    return page(after, limit);
  };
  const pages = open(readList, list);

  await pages.next();
  assert.equal(limits, [2_000]);
  await pages.next();
  assert.is(limits.length, 2);
  assert.ok(limits[1] && limits[1] > 900 && limits[1] < 1_100, `${limits[1]}`);
  await pages.return(undefined);
  assert.is(limits.length, 2);
});

lists('continues after a key of any characters', async ({ db, readList }) => {
  const keys: (readonly string[] | undefined)[] = [];
  const list: OpenList = {
    encoder: asJson(['n']),
    page: (after, limit) => {
      keys.push(after);
      const numbered = sql<{ n: number }>`generate_series(1, ${limit}::int - ${keys.length} + 1)`.as<'n'>(
        sql`n`,
      );
      return db.selectFrom(numbered).select([sql`n`.as('n'), sql<string>`'é\t😀'`.as('key')]);
    },
  };
  await collect(open(readList, list));

  assert.equal(keys, [undefined, ['é\t😀']]);
});

lists('checks the access of the reader again before each further page', async ({ db, readList }) => {
  const pages = readList(numbers(db, 100_000), async () => {
    throw new RangeError('no longer');
  });
  await pages.next();

  await failsWith(pages.next(), /no longer/);
});

/** Any text that PostgreSQL stores: without null characters. */
const texts = fc
  .string({ unit: 'binary', maxLength: 50 })
  .map((text) => text.toWellFormed().replaceAll('\0', ''));
const odd = fc.constantFrom(
  '\\',
  '\\N',
  '\\.',
  '\t',
  '\n',
  '\r\n',
  "'",
  "''",
  '$1',
  '"',
  ',{}',
  '\b\f\v',
  'é😀\u2028',
  '',
);

lists('returns any values as other queries do', async ({ db, readList }) => {
  const text = fc.array(fc.oneof(texts, odd), { maxLength: 4 }).map((parts) => parts.join(''));
  const values = fc.record({
    text,
    list: fc.array(text, { maxLength: 3 }),
    json: fc.json(),
    n: fc.maxSafeInteger(),
    isTrue: fc.boolean(),
    at: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
  });
  await fc.assert(
    fc.asyncProperty(values, async ({ text, list, json, n, isTrue, at }) => {
      const query = db.selectNoFrom([
        sql<string>`${text}::text`.as('a'),
        sql<string>`to_json(${list}::text[])::text`.as('b'),
        sql<string>`${json}::json::text`.as('c'),
        sql<string>`${n}::int8::text`.as('d'),
        sql<string>`${isTrue}::bool::text`.as('e'),
        sql<string>`${at}::timestamptz::text`.as('f'),
        sql<string | null>`${null}::text`.as('g'),
      ]);
      const pages = await collect(open(readList, { encoder: asJson([...'abcdefg']), page: () => query }));

      const row = await query.executeTakeFirstOrThrow();
      assert.equal(JSON.parse(textOf(pages)), [Object.values(row)]);
    }),
    { numRuns: 80 },
  );
});

const canRead = async ({ db, readList }: Context): Promise<void> => {
  assert.equal(numbersOf(await collect(open(readList, numbers(db, 3)))), [1, 2, 3]);
};

/** Depends on whether the connection was being read or written. */
const LOST = /terminat|EPIPE/;

const failsWith = async (promise: Promise<unknown>, message: RegExp): Promise<void> => {
  const [outcome] = await Promise.allSettled([promise]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), message);
};

const copying = ({ readList, db }: Context, expression: string) => {
  const query = db
    .selectFrom(sql`generate_series(1, 1000)`.as<'n'>(sql`n`))
    .select(sql.raw(expression).as('value'));
  return collect(open(readList, { encoder: asJson(['value']), page: () => query }));
};

lists('fails with the error of the server, and the next list is read', async (context) => {
  await failsWith(copying(context, 'no_such'), /no_such/);
  await failsWith(copying(context, '1 / (500 - n)'), /division by zero/);

  await canRead(context);
});

lists('fails if a row cannot be encoded, and the next list is read', async (context) => {
  const { db, readList } = context;
  const encode = () => {
    throw new RangeError('a bad row');
  };
  const list = { ...numbers(db, 1_000), encoder: { ...asJson(['n', 'filler']), encode } };
  await failsWith(collect(open(readList, list)), /a bad row/);

  await canRead(context);
});

/** Whether the only connection of the pool runs `pg_sleep`. */
const ASLEEP = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;

/** Without timers, as they may be stopped. */
const untilAsleep = async ({ connection }: TestDatabase): Promise<void> => {
  while ((await queryOnce(connection, ASLEEP)).length === 0);
};

lists('fails if the server does not answer in time, and the next list is read', async (context) => {
  await canRead(context);
  await withStoppedTimers(async (advance) => {
    const failing = failsWith(copying(context, 'pg_sleep(60)'), /Query read timeout/);
    await untilAsleep(context.database);
    advance(LIMIT_MS);
    await failing;
  });

  await canRead(context);
});

const pidOf = async (pool: pg.Pool): Promise<number> =>
  (await pool.query('select pg_backend_pid() as pid')).rows[0].pid;

lists('fails if the connection is lost, and the next list is read', async (context) => {
  const pid = await pidOf(context.pool);
  const failing = failsWith(copying(context, 'pg_sleep(60)'), LOST);
  await queryOnce(context.database.connection, `select pg_terminate_backend(${pid})`);

  await failing;
  await canRead(context);
});

/** Forwards connections to the database, and closes them after a COPY of one row, before the server is ready. */
const startClosingProxy = async (connection: Connection): Promise<Server> => {
  const end = 'COPY 1\0';
  const server = createServer((client) => {
    const upstream = connectToDatabase(connection);
    client.on('close', () => upstream.destroy()).pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      const length = bytes.indexOf(end) + end.length;
      if (length < end.length) client.write(bytes);
      else client.end(bytes.subarray(0, length));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

lists(
  'fails if the connection is lost after the last row, and the next list is read',
  async ({ db, database }) => {
    const { connection } = database;
    const proxy = await startClosingProxy(connection);
    const { port } = proxy.address() as AddressInfo; // of a TCP server
    const proxied = createTestPool({ ...connection, host: '127.0.0.1', port }, { max: 1 });
    const context = { db, database, pool: proxied, readList: createListReader(proxied) };

    await failsWith(collect(open(context.readList, numbers(db, 1))), LOST);
    await canRead(context);
    await proxied.end();
    proxy.close();
  },
);

lists('leaves no time limit behind on its connection', async (context) => {
  await canRead(context);
  const before = await pidOf(context.pool);
  await withStoppedTimers(async (advance) => {
    for (const _ of upTo(20)) await canRead(context);
    advance(LIMIT_MS);
  });

  assert.is(await pidOf(context.pool), before);
});

lists.run();
