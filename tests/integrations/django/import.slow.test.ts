import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../../src/adapters/hashing/password-hasher.ts';
import { addUser } from '../../../src/services/accounts/new-accounts.ts';
import { type ImportDatabase, openImportDatabase } from '../../fixtures/django/import-database.ts';
import { djangoUser } from '../../fixtures/django/records.ts';
import { djangoPython, runDjango } from '../../fixtures/django/run-django.ts';
import { rejectsWith } from '../../support/rejects.ts';

const RECORDED = readFileSync(join(import.meta.dirname, '../../fixtures/django/dump.json'), 'utf8');

const imports = suite<{ database: ImportDatabase }>('import of a Django service');

imports.before.each(async (context) => {
  context.database = await openImportDatabase();
});
imports.after.each(({ database }) => database.close());

const dumps: [string, () => string][] = [['as recorded', () => RECORDED]];
if (djangoPython !== undefined) {
  const python = djangoPython;
  dumps.push(['of the Django installed', () => JSON.stringify(runDjango(python, 'make_dump.py'))]);
} else {
  console.log('No Django is installed: only the recorded dump is imported.');
}

for (const [what, read] of dumps) {
  imports(`imports the users of a real dump, ${what}`, async ({ database }) => {
    const { totals, remarks, dropped } = await database.importDump(read(), { drop: ['groups'] });
    const users = await database.users();
    const { verify } = await createPasswordHasher(2);

    assert.equal(remarks, []);
    assert.equal(
      dropped.map(({ field }) => field),
      ['username', 'groups', 'user_permissions'],
    );
    assert.is(totals.imported, 5);
    assert.is(totals.passwordless, 1);
    assert.is(totals.read, totals.imported + totals.otherModels);
    const [ada, grace, root, gone, sso] = users;
    assert.equal(
      users.map(({ email }) => email),
      ['ada@example.org', 'grace@example.org', 'root@example.org', 'gone@example.org', 'sso@example.org'],
    );
    assert.equal(
      { name: `${ada?.first_name} ${ada?.last_name}`, joined: ada?.date_joined, login: ada?.last_login },
      { name: 'Ada Lovelace', joined: new Date('2019-03-01T08:30:15.123Z'), login: null },
    );
    assert.equal(root?.last_login, new Date('2019-03-01T08:30:15.123Z'));
    assert.equal(
      [ada, grace, root].map((user) => user?.is_staff),
      [false, true, true],
    );
    assert.equal(
      [ada, grace, root].map((user) => user?.is_superuser),
      [false, false, true],
    );
    assert.is(await verify(ada?.password_hash ?? null, 'the analytical engine'), true);
    assert.is(await verify(grace?.password_hash ?? null, 'пароль 密码 🔑'), true);
    assert.is(sso?.password_hash, null);
    assert.equal([gone?.is_active, gone?.last_deactivated], [false, null]);
  });
}

imports('uses the defaults of a new user for missing fields', async ({ database }) => {
  const record = { model: 'accounts.user', fields: { username: 'Bare@Example.org', first_name: null } };

  await database.importDump([record], { model: 'accounts.user' });
  await database.em().transactional(async (tx) => {
    await addUser(tx, { email: 'bare@other.test' }, database.clock.now());
    await tx.flush();
  });
  const [bare, made] = await database.users();

  const { id, profile_color } = bare ?? {};
  const imported = { email: 'bare@example.org', handle: '@bare' };
  assert.equal(bare, { ...made, id, profile_color, ...imported });
  assert.is(made?.handle, '@bare2');
});

imports('prefers email to username if it is an address', async ({ database }) => {
  await database.importDump([
    djangoUser('one@example.org', { username: 'other@example.org' }),
    djangoUser('not an address', { username: 'Two@example.org' }),
    djangoUser('', { username: 'three@example.org' }),
  ]);

  assert.equal(
    (await database.users()).map(({ email }) => email),
    ['one@example.org', 'two@example.org', 'three@example.org'],
  );
});

imports('sets the password age from the import, because a dump does not have it', async ({ database }) => {
  await database.importDump([djangoUser('old@example.org', { date_joined: '2001-01-01T00:00:00+14:00' })]);
  const [old] = await database.users();

  assert.equal(old?.last_password_set, database.clock.now());
  assert.equal(old?.date_joined, new Date('2000-12-31T10:00:00Z'));
});

imports('adds all users to the client, or to none without clientId', async ({ database }) => {
  await database.importDump([djangoUser('alone@example.org')]);
  await database.importDump([djangoUser('one@example.org'), djangoUser('two@example.org')], { clientId: 1 });
  const rows = await database
    .db()
    .selectFrom('users')
    .leftJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['email', 'client_id', 'is_admin'])
    .orderBy('users.id')
    .execute();

  assert.equal(rows, [
    { email: 'alone@example.org', client_id: null, is_admin: null },
    { email: 'one@example.org', client_id: 1, is_admin: false },
    { email: 'two@example.org', client_id: 1, is_admin: false },
  ]);
});

imports('refuses an unknown client before it reads anything', async ({ database }) => {
  const problem = await rejectsWith(database.importDump('no dump', { clientId: 7 }), 'invalid-input');

  assert.equal(problem.fields, { client: ['There is no client 7.'] });
});

imports('records each user in the audit trail, under their client', async ({ database }) => {
  await database.importDump([djangoUser('One@example.org'), djangoUser('two@example.org')], { clientId: 1 });
  const { audit } = await database.contents();

  assert.equal(
    audit.map(({ action, actor_label: actor, target_label: target, client_ids: clients, details }) => ({
      action,
      actor,
      target,
      clients,
      details,
    })),
    ['one@example.org', 'two@example.org'].map((target) => ({
      action: 'user.import',
      actor: '',
      target,
      clients: [1],
      details: {},
    })),
  );
});

imports('keeps existing users unchanged, and reports them', async ({ database }) => {
  await database.importDump([djangoUser('here@example.org', { first_name: 'Before' })]);
  const before = await database.contents();

  const again = djangoUser('HERE@example.org', { first_name: 'After', is_superuser: true });
  const { totals, remarks } = await database.importDump([again, djangoUser('new@example.org')], {
    clientId: 1,
  });
  const after = await database.contents();

  assert.equal(after.users[0], before.users[0]);
  assert.equal(
    after.memberships.map((row) => row.user_id),
    [after.users[1]?.id],
  );
  assert.equal([totals.existing, totals.imported, totals.faulty], [1, 1, 0]);
  assert.equal(
    remarks.map(({ position, email, outcome }) => ({ position, email, outcome })),
    [{ position: 1, email: 'here@example.org', outcome: 'exists' }],
  );
});

imports('reports the result of a dry run without changing anything', async ({ database }) => {
  await database.importDump([djangoUser('here@example.org')]);
  const before = await database.contents();
  const dump = [
    djangoUser('here@example.org'),
    djangoUser('new@example.org'),
    djangoUser('x', { username: 'x' }),
  ];

  const dry = await database.importDump(dump.slice(0, 2), { dryRun: true, clientId: 1 });
  const refused = await database.importDump(dump, { dryRun: true });

  assert.equal(await database.contents(), before);
  assert.equal([dry.totals.imported, dry.totals.existing, dry.totals.isRefused], [1, 1, false]);
  assert.equal([refused.totals.imported, refused.totals.faulty, refused.totals.isRefused], [0, 1, true]);
  const { totals } = await database.importDump(dump.slice(0, 2), { clientId: 1 });
  assert.equal(totals, dry.totals);
});

imports('imports each user once in concurrent imports of the same dump', async ({ database }) => {
  const dump = Array.from({ length: 1500 }, (_, index) => djangoUser(`user${index}@example.org`));

  const outcomes = await Promise.all([database.importDump(dump), database.importDump(dump)]);

  assert.equal(outcomes.map(({ totals }) => [totals.imported, totals.existing]).sort(), [
    [0, 1500],
    [1500, 0],
  ]);
  assert.is((await database.users()).length, 1500);
});

imports.run();
