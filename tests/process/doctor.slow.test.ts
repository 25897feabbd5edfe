import { access, writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { SUPERUSER } from '../../src/adapters/embedded-postgres/cluster.ts';
import { startTcpDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { examine, startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { freePort } from '../support/tcp.ts';
import { administer, queryOnce } from '../support/test-server.ts';

const SECRET_KEY = 'a secret key that only tests ever use';
const doctor = suiteWith('steward doctor', async (started) => ({
  database: started.use(await startTcpDatabase({ hasTls: true })),
}));

doctor('finds nothing wrong with a service that is set up well', async ({ database }) => {
  await using folder = await makeScratchFolder();
  await using mail = await startSmtpServer({ disabledCommands: ['STARTTLS'] });
  const port = String(await freePort());
  const settings = {
    DATA_DIR: folder.path,
    DATABASE_URL: database.url(`sslmode=verify-full&sslrootcert=${database.files.authority}`),
    SECRET_KEY,
    PORT: port,
    BASE_URL: `http://localhost:${port}`,
    SMTP_URL: `smtp://user:mail-secret@127.0.0.1:${mail.port}`,
  };
  await using _service = await startService('serve', settings);

  const { code, stdout, findings, lines } = await examine(settings);

  assert.equal(lines('warning'), ['No backups are scheduled. Set BACKUP_TARGET: see docs/backup.md.']);
  assert.equal(lines('failure'), []);
  assert.is(code, 0);
  const checks = new Set(findings.map(({ check }) => check));
  for (const check of [
    'settings',
    'data folder',
    'database',
    'privileges',
    'user search',
    'database TLS',
    'stored secrets',
    'mail',
    'package store',
    'public URL',
  ])
    assert.ok(checks.has(check), check);
  assert.match(stdout, 'accepts the login');
  for (const secret of ['mail-secret', SECRET_KEY]) assert.not.ok(stdout.includes(secret));
  assert.equal(mail.taken, []);
  const withAnotherKey = await examine({ ...settings, SECRET_KEY: SECRET_KEY.toUpperCase() });
  assert.match(withAnotherKey.lines('warning', 'stored secrets').join(), 'Restore the SECRET_KEY');
});

doctor('reports everything that is unavailable, without secrets', async () => {
  await using folder = await makeScratchFolder();
  await using mail = await startSmtpServer({ disabledCommands: ['STARTTLS'] });
  mail.faults.login = () => ({ status: 535 });
  await writeFile(folder.join('file'), '');

  const { code, stdout, lines } = await examine({
    DATA_DIR: folder.join('file'),
    DATABASE_URL: 'postgres://u:database-secret@127.0.0.1:1/x',
    SECRET_KEY,
    SMTP_URL: `smtp://user:mail-secret@127.0.0.1:${mail.port}`,
    APP_STORE: `file:${folder.join('file')}`,
  });

  assert.is(code, 1);
  assert.match(lines('failure', 'database').join(), '127.0.0.1:1: connection refused');
  assert.match(lines('failure', 'mail').join(), 'refused the login (535)');
  assert.match(lines('failure', 'package store').join(), 'not a directory');
  for (const secret of ['mail-secret', 'database-secret', SECRET_KEY])
    assert.not.ok(stdout.includes(secret), secret);
});

doctor('names the grant that the role lacks, and accepts the role once it has it', async ({ database }) => {
  const { connection } = database;
  const admin = { ...connection, user: SUPERUSER };
  await administer(admin, 'create database narrow', "create role narrow login password 'narrow'");
  const narrow = { ...admin, database: 'narrow' };
  await administer(narrow, 'revoke create on schema public from public');
  const settings = { DATABASE_URL: `postgres://narrow:narrow@localhost:${database.port}/narrow`, SECRET_KEY };

  const before = await examine(settings);
  const [line = ''] = before.lines('failure', 'privileges');
  await administer(narrow, /grant .*$/.exec(line)?.[0] ?? '');
  const after = await examine(settings);

  assert.is(before.code, 1);
  assert.is(line.includes('grant usage, create on schema public to narrow'), true, line);
  assert.equal(after.lines('failure'), []);
  assert.equal(
    await queryOnce(narrow, "select relname from pg_class where relname like 'steward_doctor%'"),
    [],
  );
});

doctor('starts nothing and creates nothing where no service has run', async () => {
  await using folder = await makeScratchFolder();

  const { code, lines } = await examine({ DATA_DIR: folder.join('data') });

  assert.is(code, 0);
  assert.match(lines('ok', 'database').join(), 'first start creates the embedded database');
  assert.is(
    await access(folder.join('data')).then(
      () => true,
      () => false,
    ),
    false,
  );
});

doctor.run();
