import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { runCommand } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { makeDataDir } from '../support/test-server.ts';

const commands = suiteWith('steward commands on a database', async (started) => {
  const server = started.use(await startExternalDatabase());
  const { settings, connection } = await server.makeDatabase();
  const database = new Client(connection);
  await database.connect();
  started.defer(() => database.end());
  return { settings, database };
});

commands('migrate applies each migration once', async ({ settings }) => {
  const dry = await runCommand(['migrate', '--dry-run'], settings);
  const first = await runCommand(['migrate'], settings);
  const second = await runCommand(['migrate'], settings);

  assert.is(first.code, 0, first.stderr);
  assert.match(dry.stdout, /^0001-schema\n {2}locks no existing table\n/);
  assert.match(first.stdout, /^Applied 0001-schema/);
  assert.is(second.code, 0);
  assert.is(second.stdout, 'No pending migrations.\n');
  assert.is(first.stderr + second.stderr, '');
});

commands('create-admin creates a superuser and prints the password', async ({ settings, database }) => {
  const { code, stdout } = await runCommand(['create-admin', 'New@Example.test'], settings);

  const { rows } = await database.query(`select email, is_superuser, is_active from users`);
  assert.is(code, 0);
  assert.match(stdout, /^new@example\.test is a superuser\.\nPassword \(shown only once\): \S{16}\n$/);
  assert.equal(rows, [{ email: 'new@example.test', is_superuser: true, is_active: true }]);
});

commands('create-admin promotes and reactivates an existing user', async ({ settings, database }) => {
  await database.query(`
    insert into users (email, handle, profile_color, date_joined, last_password_set, is_active)
    values ('idle@example.test', '@idle', '000000', '2026-01-01', '2026-01-01', false)`);

  const admin = { ADMIN_PASSWORD: 'correct horse battery' };
  const { code, stdout } = await runCommand(['create-admin', 'idle@example.test'], { ...settings, ...admin });

  const { rows } = await database.query(`
    select is_superuser, is_active from users where email = 'idle@example.test'`);
  assert.is(code, 0);
  assert.is(stdout, 'idle@example.test is a superuser.\nThe password is that of ADMIN_PASSWORD.\n');
  assert.equal(rows, [{ is_superuser: true, is_active: true }]);
});

commands('create-admin keeps an existing password, and generates a missing one', async (context) => {
  const { settings, database } = context;
  const hashes = async () => (await database.query('select password_hash from users order by id')).rows;
  await database.query(`
    insert into users (email, handle, profile_color, date_joined, last_password_set)
    values ('bare@example.test', '@bare', '000000', '2026-01-01', '2026-01-01')`);
  const before = await hashes();

  const kept = await runCommand(['create-admin', 'new@example.test'], settings);
  const made = await runCommand(['create-admin', 'bare@example.test'], settings);

  assert.match(kept.stdout, /^new@example\.test is a superuser\.\nThe password was kept\./);
  assert.match(made.stdout, /shown only once/);
  assert.equal((await hashes()).slice(0, 2), before.slice(0, 2));
});

commands('create-admin changes a password, says so, and tells its owner', async ({ settings, database }) => {
  const email = 'lost@example.test';
  await runCommand(['create-admin', email], settings);
  const admin = { ADMIN_PASSWORD: 'another horse battery' };
  const { code, stdout, stderr } = await runCommand(['create-admin', email], { ...settings, ...admin });

  const mails = await database.query(`select kind from outbox_mails where recipient = $1`, [email]);
  const audit = await database.query(`select action from audit_entries where target_label = $1 order by id`, [
    email,
  ]);
  assert.is(code, 0, stderr);
  assert.match(stdout, 'The password was changed to that of ADMIN_PASSWORD. All sessions and tokens');
  assert.equal(mails.rows, [{ kind: 'password-changed' }]);
  assert.equal(
    audit.rows.map(({ action }) => action),
    ['user.make-superuser', 'user.make-superuser', 'password.change'],
  );
});

commands('create-admin and a first start refuse a common password', async ({ settings, database }) => {
  const admin = { ...settings, ADMIN_EMAIL: 'weak@example.test', ADMIN_PASSWORD: 'Password123' };
  const created = await runCommand(['create-admin', 'weak@example.test'], admin);
  const { rows } = await database.query(`select from users where email = 'weak@example.test'`);
  await using folder = await makeDataDir();
  const started = await runCommand(['serve'], { ...admin, DATABASE_URL: '', DATA_DIR: folder.path });

  for (const { code, stderr } of [created, started]) {
    assert.is(code, 1);
    assert.match(stderr, 'ADMIN_PASSWORD: Must not be a common password.');
  }
  assert.equal(rows, []);
});

commands('mfa reset removes the second factors of the last superuser', async (context) => {
  const { settings, database } = context;
  const email = 'locked-out@example.test';
  await runCommand(['create-admin', email], settings);
  const missing = await runCommand(['mfa', 'reset', 'unknown@example.test'], settings);
  const none = await runCommand(['mfa', 'reset', email], settings);
  await database.query(
    `with owner as (select id from users where email = $1),
    factors as (insert into mfa_factors (user_id, kind, name, sealed_secret, created_at, confirmed_at)
      select id, 'totp', 'Phone', '', '2026-01-01', '2026-01-01' from owner)
  insert into recovery_codes (user_id, digest) select id, 'd' from owner`,
    [email],
  );
  const reset = await runCommand(
    ['mfa', 'reset', 'Locked-out@Example.test', '--reason', 'Lost phone'],
    settings,
  );

  assert.equal([missing.code, none.code, reset.code], [1, 1, 0]);
  assert.match(missing.stderr, 'No such user: unknown@example.test.');
  assert.match(none.stderr, 'No such second factor.');
  assert.is(reset.stdout, `Removed the second factors and recovery codes of ${email}.\n`);
  const { rows } = await database.query(
    `select (select count(*)::int from mfa_factors) as factors, (select count(*)::int from recovery_codes) as codes,
    (select array_agg(kind) from outbox_mails where recipient = $1) as mails,
    (select details from audit_entries where action = 'mfa.reset' and target_label = $1 and actor_id is null) as details`,
    [email],
  );
  assert.equal(rows, [
    { factors: 0, codes: 0, mails: ['second-factor-reset'], details: { reason: 'Lost phone' } },
  ]);
});

commands.run();
