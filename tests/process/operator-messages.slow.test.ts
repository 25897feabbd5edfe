import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import manifest from '../../package.json' with { type: 'json' };
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { assertRefused, runCommand, startService } from '../support/service-process.ts';
import { makeDataDir, queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const messages = suite('messages to operators');

messages('serve says once that a newer version has migrated the database, and what holds', async () => {
  await using server = await startExternalDatabase();
  await using folder = await makeScratchFolder();
  const { settings, connection } = await server.makeDatabase();
  const all = { ...settings, APP_STORE: `file:${folder.join('store')}`, LOG_FORMAT: 'text', WORKERS: '2' };
  assert.is((await runCommand(['migrate'], settings)).code, 0);
  await queryOnce(connection, `insert into mikro_orm_migrations (name) values ('9999-teleports')`);
  await using service = await startService('serve', all);
  await until('the line is printed', () => service.output.stdout.includes('A newer version'));
  const { stdout } = await service.kill('SIGTERM');

  assert.equal(stdout.match(/A newer version of Steward has migrated this database: .+/g), [
    `A newer version of Steward has migrated this database: it applied 9999-teleports. Only the version before that one works with it. If Steward ${manifest.version} is older, stop it: see docs/upgrades.md.`,
  ]);
});

messages('serve says how to move a database of another version of PostgreSQL', async () => {
  await using folder = await makeScratchFolder();
  const cluster = folder.join('postgres');
  await mkdir(cluster);
  await writeFile(join(cluster, 'PG_VERSION'), '17\n');

  const outcome = await runCommand(['serve'], { DATA_DIR: folder.path });

  assertRefused(outcome, 1);
  assert.is(
    outcome.stderr,
    `${cluster} was created by PostgreSQL 17; this Steward includes PostgreSQL 18. Run \`steward backup\` with the version of Steward that created it, and \`steward restore\` with this one and a new DATA_DIR: see docs/upgrades.md.\n`,
  );
  assert.equal(await readdir(cluster), ['PG_VERSION']);
});

messages('migrate names the missing privileges of a role', async () => {
  await using server = await startExternalDatabase();
  const { settings, connection } = await server.makeDatabase();
  const owner = new Client(connection);
  await owner.connect();
  await owner.query('revoke create on schema public from public, pg_database_owner');
  await owner.end();

  const outcome = await runCommand(['migrate'], settings);

  assertRefused(outcome, 1);
  assert.match(
    outcome.stderr,
    /^DATABASE_URL: .*permission denied for schema public\. The role needs USAGE and CREATE/,
  );
});

messages('the log has one line of text for each response with LOG_FORMAT=text', async () => {
  await using folder = await makeDataDir();
  await using service = await startService('serve', { DATA_DIR: folder.path, LOG_FORMAT: 'text' });
  await service.send('GET /jb/sites/?secret=1');
  const { stdout } = await service.kill('SIGTERM');

  const lines = stdout.trimEnd().split('\n');
  const TIME = '\\[\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z\\]';
  const answered = new RegExp(`^${TIME} INFO: GET /api/v1/jb/sites/ 401 \\d+ ms$`);
  assert.is(lines.filter((line) => answered.test(line)).length, 1, stdout);
  for (const said of [`Steward listens on ${service.address}`, 'Stopping: SIGTERM'])
    assert.ok(
      lines.some((line) => new RegExp(`^${TIME} INFO: `).test(line) && line.endsWith(said)),
      said,
    );
  for (const unreadable of ['{', '\u001b']) assert.not.match(stdout, unreadable);
});

messages.run();
