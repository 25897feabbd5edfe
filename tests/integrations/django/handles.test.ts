import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHandleAllocator } from '../../../src/integrations/django/staging.ts';
import { addUser } from '../../../src/services/users/user-creation.ts';
import type { ImportDatabase } from '../../fixtures/django/import-database.ts';
import { importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

/** Gives handles in chunks, and records them as used, as an import does. */
const giveAmong = async (inUse: Iterable<string>, chunks: string[][]) => {
  const taken = new Set(inUse);
  const queries: number[] = [];
  const give = createHandleAllocator(async (handles) => {
    queries.push(handles.length);
    return handles.filter((handle) => taken.has(handle));
  });
  const given: string[] = [];
  for (const bases of chunks) {
    const handles = await give(bases);
    for (const handle of handles) taken.add(handle);
    given.push(...handles);
  }
  return { given, queries };
};

const allocator = suite('createHandleAllocator');

allocator('gives the base, then the lowest free numbers from 2', async () => {
  const { given } = await giveAmong(['@ada', '@ada3'], [['@ada', '@bob', '@ada', '@bob']]);

  assert.equal(given, ['@ada2', '@bob', '@ada4', '@bob2']);
});

allocator('gives a handle that fits two bases only once', async () => {
  const { given } = await giveAmong([], [['@ada', '@ada2', '@ada', '@ada2', '@ada22']]);

  assert.is(new Set(given).size, 5);
});

allocator('finds a number after thousands with a few queries, and later with one', async () => {
  const used = ['@info', ...Array.from({ length: 20_000 }, (_, index) => `@info${index + 2}`)];

  const { given, queries } = await giveAmong(used, [['@info'], ['@info']]);

  assert.equal(given, ['@info20002', '@info20003']);
  assert.ok(queries.length < 40, `${queries.length} queries`);
  assert.is(queries.at(-1), 1);
});

allocator('gives each base a free handle, without gaps', async () => {
  const base = fc.constantFrom('@a', '@a2', '@a22', '@b', '@2', '@22');
  const inUse = fc.uniqueArray(fc.tuple(base, fc.integer({ min: 2, max: 60 })).map((pair) => pair.join('')));
  const chunks = fc.array(fc.array(base, { minLength: 1, maxLength: 40 }), { maxLength: 4 });

  await fc.assert(
    fc.asyncProperty(inUse, chunks, async (used, asked) => {
      const { given } = await giveAmong(used, asked);
      const all = new Set([...used, ...given]);

      assert.is(all.size, used.length + given.length, 'all differ');
      for (const [index, wanted] of asked.flat().entries()) {
        const handle = given[index] ?? '';
        assert.ok(handle.startsWith(wanted));
        const number = Number(handle.slice(wanted.length) || 1);
        for (let n = 1; n < number; n += 1) assert.ok(all.has(n === 1 ? wanted : `${wanted}${n}`), handle);
      }
    }),
  );
});

allocator.run();

const handles = importSuite('handles of imported users');

const add = (database: ImportDatabase, email: string) =>
  database.em().transactional(async (tx) => {
    const { handle } = await addUser(tx, { email }, database.clock.now());
    await tx.flush();
    return handle;
  });

handles('are unique among imported and existing users', async ({ database }) => {
  await add(database, 'ada@here.test');
  await add(database, 'ada3@here.test');

  await database.importDump(
    ['ada@a.test', 'ada@b.test', 'ada2@a.test', 'eve@a.test', `${'x'.repeat(60)}@a.test`].map((email) =>
      djangoUser(email),
    ),
  );
  const given = (await database.users()).slice(2).map(({ handle }) => handle);

  assert.equal(given, ['@ada2', '@ada4', '@ada22', '@eve', `@${'x'.repeat(50)}`]);
});

handles('are not given to another user during the import', async ({ database }) => {
  const dump = Array.from({ length: 3000 }, (_, index) => djangoUser(`race@host${index}.test`));

  const [{ totals }, ...added] = await Promise.all([
    database.importDump(dump),
    ...Array.from({ length: 6 }, (_, index) => add(database, `race@single${index}.test`)),
  ]);
  const users = await database.users();

  assert.is(totals.imported, 3000);
  assert.is(new Set(added).size, 6);
  assert.is(users.filter(({ handle }) => /^@race\d*$/.test(handle)).length, 3006);
});

handles.run();
