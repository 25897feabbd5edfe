import fc from 'fast-check';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createTextArray, instantArray, textArray } from '../../src/db/binary-arrays.ts';
import { appSuite } from '../support/app-suite.ts';

const arrays = appSuite('binary arrays');

/** Text that PostgreSQL can store: without NUL and lone surrogates. */
const text = fc
  .oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
  .map((given) => given.replaceAll('\0', ''))
  .filter((given) => given.isWellFormed());

arrays('of text are read by PostgreSQL unchanged', async ({ app }) => {
  const texts = fc.array(fc.option(text), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(texts, async (given) => {
      const { rows } = await sql<{ plain: string[]; short: string[] }>`
        select ${textArray('text', given)}::text[] as plain, ${textArray('varchar', given)}::varchar[] as short`.execute(
        app.db(),
      );
      assert.equal(rows, [{ plain: given, short: given }]);
    }),
    { numRuns: 100 },
  );
});

arrays('of JSON keep its text', async ({ app }) => {
  const given = ['{"a":1,  "a":"\\u0000"}', '[]', JSON.stringify('é🎉'.repeat(500)), 'null'];
  const array = createTextArray('json', 1, 0);
  for (const json of given) array.add(json);
  const { rows } = await sql<{ json: string }>`
    select json::text from unnest(${array.bytes()}::json[]) as json`.execute(app.db());

  assert.equal(
    rows.map(({ json }) => json),
    given,
  );
});

arrays('of timestamps are exact to the millisecond', async ({ app }) => {
  const time = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  await fc.assert(
    fc.asyncProperty(fc.array(time, { minLength: 1, maxLength: 20 }), async (given) => {
      const times = given.map((at) => at.getTime());
      const { rows } = await sql<{ time: string }>`
        select (extract(epoch from at) * 1000)::bigint::text as time
        from unnest(${instantArray(times)}::timestamptz[]) with ordinality as given (at, place)
        order by place`.execute(app.db());
      assert.equal(
        rows.map((row) => Number(row.time)),
        times,
      );
    }),
    { numRuns: 50 },
  );
});

arrays.run();
