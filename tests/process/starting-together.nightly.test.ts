import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MIGRATIONS } from '../../migrations/index.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';

const INSTANCES = 3;
const ADMIN = { ADMIN_EMAIL: 'chief@example.test', ADMIN_PASSWORD: 'correct horse battery' };

const together = suite('services that start together on one empty database');

together('all start, and create the initial data once', async () => {
  await using folder = await makeScratchFolder();
  await using server = await startExternalDatabase();
  const { settings, connection } = await server.makeDatabase();

  const services = await Promise.all(
    Array.from({ length: INSTANCES }, () =>
      startService('serve', { ...settings, ...ADMIN, DATA_DIR: folder.path }),
    ),
  );
  await using stack = new AsyncDisposableStack();
  for (const service of services) stack.use(service);
  const { token } = (await services[0]?.logIn(ADMIN.ADMIN_EMAIL, ADMIN.ADMIN_PASSWORD)) ?? { token: '' };
  const answers = await Promise.all(services.map((service) => service.send('GET /jb/users/', { token })));
  const client = new Client(connection);
  await client.connect();
  const { rows } = await client.query(`
    select (select count(*)::int from sites) as sites, (select count(*)::int from clients) as clients,
      (select count(*)::int from users where is_superuser) as superusers,
      (select count(*)::int from mikro_orm_migrations) as migrations`);
  await client.end();

  assert.equal(
    answers.map(({ status }) => status),
    services.map(() => 200),
  );
  assert.equal(rows, [{ sites: 1, clients: 1, superusers: 1, migrations: MIGRATIONS.names.length }]);
  const creators = services.filter(({ output }) => output.stdout.includes('Created the first superuser'));
  assert.is(creators.length, 1);
});

together.run();
