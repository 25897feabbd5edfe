import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { peakMemoryMb, runCommand, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { makeDataDir } from '../support/test-server.ts';

const PASSWORD = 'steward-demo-1';

const demo = suiteWith('steward demo', async (started) => {
  const folder = started.use(await makeScratchFolder());
  const service = started.use(await startService('demo', { DATA_DIR: folder.path }));
  const { token: root } = await service.logIn('root@steward.test', PASSWORD);
  console.log(`demo listens after ${service.startMs} ms; peak memory ${peakMemoryMb(service.pid)} MB`);
  return { folder, service, root };
});

demo('ends its start with the addresses, the password and people to log in as', ({ service }) => {
  const lines = service.output.stdout.split('\n').filter((line) => line !== '');
  const messages: string[] = lines.map((line) => JSON.parse(line).msg);
  const notice = messages.slice(messages.indexOf(`Steward listens on ${service.address}`) + 1);

  for (const line of [
    `Console    ${service.address}/console/`,
    `An app     ${service.address}/launch/sales/`,
    `API        ${service.address}/docs/`,
    `Password   ${PASSWORD}, for each of:`,
    'root@steward.test   superuser',
  ])
    assert.ok(notice.includes(line), `${line}\n${notice.join('\n')}`);
  assert.not.ok(notice.some((line) => line.startsWith('Server listening')));
});

demo('opens an app with the rows that the data permissions of the user allow', async ({ service }) => {
  const open = async (email: string): Promise<string> => {
    const { token } = await service.logIn(email, PASSWORD);
    const { json } = await service.send('POST /app/launch/sales/', { token });
    assert.match(json.url, `${service.address}/demo-apps/sales/?code=`);
    const launched = await fetch(json.url, { redirect: 'manual' });
    assert.is(launched.status, 303, service.output.stdout);
    assert.is(launched.headers.get('location'), `${service.address}/demo-apps/sales/`);
    const [cookie = ''] = (launched.headers.get('set-cookie') ?? '').split(';');
    return (await fetch(`${service.address}/demo-apps/sales/`, { headers: { cookie } })).text();
  };

  assert.match(await open('ada@acme.test'), 'show you 6 of 12 rows: region is North or West.');
  assert.match(await open('grace@acme.test'), 'show you 3 of 12 rows: region is South.');
  const ofRoot = await open('root@steward.test');
  assert.match(ofRoot, 'show you 12 of 12 rows: region is North, South, West, or East.');
  assert.match(ofRoot, 'Roles: superuser.');
});

demo('is reported by steward doctor as long as its published password is accepted', async ({ folder }) => {
  const { stdout } = await runCommand(['doctor'], { DATA_DIR: folder.path });

  assert.match(
    stdout,
    /^WARNING +demo accounts +root@steward\.test, a superuser, accepts the published password of the demo\. → /m,
  );
});

demo('keeps existing data at the next start, and says so', async ({ folder, service, root }) => {
  const made = { email: 'kept@acme.test', client: 1, apps: ['zylTKNVx'] };
  assert.is((await service.send('POST /jb/users/', { token: root, body: made })).status, 200);
  await service.kill('SIGTERM');

  await using second = await startService('demo', { DATA_DIR: folder.path });
  console.log(`demo listens after ${second.startMs} ms on a folder that has a database`);
  const { status } = await second.send('GET /jb/users/kept@acme.test/', { token: root });
  const { json } = await second.send('GET /jb/users/', { token: root });

  assert.match(second.output.stdout, 'The demo workspace of an earlier start was kept, with its changes');
  assert.match(
    second.output.stdout,
    'To start afresh, use another folder: DATA_DIR=.steward-demo npm run demo',
  );
  assert.match(second.output.stdout, `Console    ${second.address}/console/`);
  assert.is(status, 200);
  assert.is(json.length, 151);
});

demo('serves no demo apps in other starts', async ({ folder }) => {
  await using service = await startService('serve', { DATA_DIR: folder.path });
  const { token } = await service.logIn('ada@acme.test', PASSWORD);
  const { json } = await service.send('POST /app/launch/sales/', { token });

  assert.is(json.url, '/api/v1/jb/apps/zylTKNVx/');
  assert.is((await fetch(`${service.address}/demo-apps/sales/`)).status, 404);
});

demo('says how to go on if the database has other data', async () => {
  await using folder = await makeDataDir();
  const settings = { DATA_DIR: folder.path };
  await (await startService('serve', settings)).kill('SIGTERM');
  await using service = await startService('demo', settings);

  assert.match(
    service.output.stdout,
    `The database is not empty: the demo workspace was not added. Log in at ${service.address}/console/ as before.`,
  );
  assert.not.match(service.output.stdout, 'root@steward.test');
});

demo('with a password of the operator satisfies steward doctor, and does not print it', async () => {
  await using folder = await makeDataDir();
  const settings = { DATA_DIR: folder.path, DEMO_PASSWORD: 'quite-private-9', LOG_FORMAT: 'text' };
  await using service = await startService('demo', settings);
  const doctor = await runCommand(['doctor'], { DATA_DIR: folder.path });
  const { stdout, stderr } = await service.kill('SIGTERM');

  assert.is(doctor.code, 0, doctor.stderr);
  assert.not.match(doctor.stdout, 'demo accounts');
  assert.match(stdout, / INFO: Password {3}that of DEMO_PASSWORD, for each of:\n/);
  assert.not.match(stdout + stderr, 'quite-private-9');
});

demo.run();
