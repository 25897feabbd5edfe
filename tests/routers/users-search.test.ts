import fc from 'fast-check';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { anyCharacter } from '../support/any-character.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';

const search = appSuite('search of users');

type Filter = { search?: string; is_active?: boolean; app?: string };
const found = async (app: TestApp, filter: Filter, as = ROOT) =>
  (await app.as(as).users.list(filter)).map(({ email }) => email);

const OTTO = 'otto_100%@acme.test';
const OSCAR = 'oscar.100x@acme.test';

search.before(async ({ app }) => {
  const root = app.as(ROOT);
  await root.users.create({ email: OTTO, first_name: 'Jörg-Otto', last_name: "O'Brien \\ Søn", client: 1 });
  await root.users.create({ email: OSCAR, first_name: 'ÉLODIE', last_name: 'Groß', client: 1 });
});

search('matches parts of the address and names, ignoring case', async ({ app }) => {
  assert.equal(await found(app, { search: 'ovelac' }), [ADA]);
  assert.equal(await found(app, { search: 'HOPPER' }), [GRACE]);
  assert.equal(await found(app, { search: 'gRaCe@' }), [GRACE]);
  assert.equal(await found(app, { search: 'jÖRG' }), [OTTO]);
  assert.equal(await found(app, { search: 'élodie' }), [OSCAR]);
  assert.equal(await found(app, { search: 'unknown' }), []);
});

search('requires every word, in any field', async ({ app }) => {
  assert.equal(await found(app, { search: 'lovelace ada' }), [ADA]);
  assert.equal(await found(app, { search: '  acme.test\t hop ' }), [GRACE]);
  assert.equal(await found(app, { search: 'ada hopper' }), []);
});

search('does not match a word across two fields', async ({ app }) => {
  assert.equal(await found(app, { search: 'testada' }), []);
  assert.equal(await found(app, { search: 'adalovelace' }), []);
});

search('treats %, _ and \\ literally', async ({ app }) => {
  assert.equal(await found(app, { search: '100%' }), [OTTO]);
  assert.equal(await found(app, { search: 'o_1' }), [OTTO]);
  assert.equal(await found(app, { search: '\\' }), [OTTO]);
  assert.equal(await found(app, { search: "o'b" }), [OTTO]);
  assert.equal(await found(app, { search: '%' }), [OTTO]);
  assert.equal(await found(app, { search: '_' }), [OTTO]);
});

search('matches every user if it is blank', async ({ app }) => {
  const everybody = await found(app, {});
  assert.equal(await found(app, { search: '' }), everybody);
  assert.equal(await found(app, { search: ' \t ' }), everybody);
});

search('combines with is_active and app, and returns only visible users', async ({ app }) => {
  assert.equal(await found(app, { is_active: false }), [IDLE]);
  assert.equal(await found(app, { search: 'acme', is_active: false }), [IDLE]);
  assert.equal(await found(app, { search: 'acme.test', app: 'churn' }), [ADA]);
  assert.not.ok((await found(app, { is_active: true })).includes(IDLE));
  assert.equal(await found(app, { search: 'dijkstra' }, ACME), []);
  assert.equal(await found(app, { search: 'dijkstra' }), [EDSGER]);
});

search('works for the users of a client', async ({ app }) => {
  const inAcme = async (filter: Filter) =>
    (await app.as(ACME).clients.users({ id: 1, ...filter })).map(({ email }) => email);

  assert.equal(await inAcme({ search: 'hop' }), [GRACE]);
  assert.equal(await inAcme({ is_active: false }), [IDLE]);
  assert.equal(await inAcme({ search: 'dijkstra' }), []);
});

search('is read from the query string, and refused where search is not supported', async ({ app }) => {
  const read = (query: string) => app.send(`GET /jb/users/?${query}`, { as: ROOT });
  const words = Array.from({ length: 11 }, (_, n) => `w${n}`).join(' ');

  assert.is((await read('search=ada+love&is_active=true')).json()[0].email, ADA);
  for (const [query, field] of [
    ['search=%00', 'search'],
    [`search=${'x'.repeat(255)}`, 'search'],
    [`search=${encodeURIComponent(words)}`, 'search'],
    ['is_active=yes', 'is_active'],
    ['is_active=', 'is_active'],
  ] as const) {
    const response = await read(query);
    assert.equal([response.statusCode, Object.keys(response.json().errors)], [400, [field]], query);
  }
  await rejectsWith(app.as(ADA).users.list({ search: 'ada' }), 'forbidden');
});

/** Any text, with many characters that are special in patterns. */
const text = fc
  .oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('%', '_', '\\', "'", '"', ' ', 'a', 'B', 'é', '😀'), maxLength: 40 }),
  )
  .filter((value) => value.isWellFormed() && !value.includes('\0'));

const tenWords = (value: string): string => value.split(/\s+/u).filter(Boolean).slice(0, 10).join(' ');

search('finds users by any words of their names, and accepts any text', async ({ app }) => {
  await fc.assert(
    fc.asyncProperty(text, fc.nat(40), fc.nat(40), text, async (name, from, to, other) => {
      await app.db().updateTable('users').set({ last_name: name }).where('email', '=', GRACE).execute();
      const part = [...name].slice(Math.min(from, to), Math.max(from, to)).join('');
      const words = tenWords(part);

      assert.ok((await found(app, { search: words })).includes(GRACE), JSON.stringify({ name, words }));
      await found(app, { search: tenWords(other) });
    }),
    { numRuns: 150 },
  );
});

search('uses its index on large tables', async ({ app }) => {
  const plan = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx);
      await sql`set local enable_indexscan = off`.execute(tx);
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain select 1 from users
      where lower(users.email || ' ' || users.first_name || ' ' || users.last_name) like lower('%love%')`.execute(
        tx,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });

  assert.match(plan, 'users_search');
});

search.run();
