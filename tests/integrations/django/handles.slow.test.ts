import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHandleAllocator } from '../../../src/integrations/django/import.ts';
import { addUser } from '../../../src/services/accounts/new-accounts.ts';
import type { ImportDatabase } from '../../fixtures/django/import-database.ts';
import { importSuite } from '../../fixtures/django/import-suite.ts';
import { djangoUser } from '../../fixtures/django/records.ts';

const allocator = suite('createHandleAllocator');

allocator('gives the base, then the lowest free numbers from 2', () => {
  const given = ['@ada', '@bob', '@ada', '@bob'].map(createHandleAllocator(['@ada', '@ada3']));

  assert.equal(given, ['@ada2', '@bob', '@ada4', '@bob2']);
});

allocator('gives each base a free handle, without gaps', () => {
  const base = fc.constantFrom('@a', '@a2', '@a22', '@b', '@2', '@22');
  const inUse = fc.uniqueArray(fc.tuple(base, fc.integer({ min: 2, max: 60 })).map((pair) => pair.join('')));
  const bases = fc.array(base, { maxLength: 100 });

  fc.assert(
    fc.property(inUse, bases, (used, asked) => {
      const given = asked.map(createHandleAllocator(used));
      const all = new Set([...used, ...given]);

      assert.is(all.size, used.length + given.length, 'all differ');
      for (const [index, wanted] of asked.entries()) {
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
