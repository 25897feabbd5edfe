import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand, type Service, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const PRINTED = /^Password \(shown only once\): (\S+)$/m;

type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

/** At the most verbose level, which would show a secret in the log. */
const settingsOf = (folder: Folder) => ({ DATA_DIR: folder.path, LOG_LEVEL: 'trace' });
const outputOf = ({ output }: Service): string => output.stdout + output.stderr;

const first = suiteWith('steward serve on an empty folder', async (started) => {
  const folder = started.use(await makeScratchFolder());
  const service = started.use(await startService('serve', settingsOf(folder)));
  return { folder, service, password: PRINTED.exec(service.output.stderr)?.[1] ?? '' };
});

first('creates a site, a client and a superuser', async ({ service, password }) => {
  const { status, token } = await service.logIn('admin@localhost', password);
  const sites = await service.send('GET /jb/sites/', { token });
  const clients = await service.send('GET /jb/clients/', { token });
  const users = await service.send('GET /jb/users/', { token });

  assert.is(status, 200);
  assert.is(sites.json.length, 1);
  assert.is(`http://${sites.json[0].domain}`, service.address);
  assert.is(clients.json.length, 1);
  assert.is(users.json.length, 1);
  assert.not.match(outputOf(service), token);
});

first('refuses a second service on the same folder, without affecting the first', async (context) => {
  const { folder, service } = context;
  const PORT = new URL(service.address).port;

  const outcomes = [
    await runCommand(['serve'], settingsOf(folder)),
    await runCommand(['serve'], { ...settingsOf(folder), PORT }),
  ];

  for (const { code, stdout, stderr } of outcomes) {
    assert.is(code, 1);
    assert.is(stdout, '');
    assert.match(stderr, /^Steward is already running on DATA_DIR .+\n$/);
    assert.match(stderr, folder.path);
  }
  assert.is((await service.send('GET !/readyz')).status, 200);
  assert.ok(service.isRunning());
});

first('reports a port in use before it creates a superuser', async ({ service }) => {
  await using other = await makeScratchFolder();
  const PORT = new URL(service.address).port;

  const { code, stdout, stderr } = await runCommand(['serve'], { DATA_DIR: other.path, PORT });

  assert.is(code, 1);
  assert.is(stdout, '');
  assert.is(stderr, `PORT ${PORT} is in use by another process. Stop it, or set another PORT.\n`);
});

first('prints the password exactly once, and never at a later start', async (context) => {
  const { folder, service, password } = context;
  await service.kill('SIGTERM');

  await using second = await startService('serve', settingsOf(folder));
  const { status, token } = await second.logIn('admin@localhost', password);

  assert.is(status, 200);
  assert.is(outputOf(service).split(password).length - 1, 1);
  assert.not.match(outputOf(second), password);
  assert.not.match(outputOf(second), 'superuser');
  assert.not.match(outputOf(second), token);
});

first('creates the superuser of the settings without printing the password', async () => {
  await using folder = await makeScratchFolder();
  const [email, password] = ['Chief@Example.test', 'correct horse battery'];

  const admin = { ADMIN_EMAIL: email, ADMIN_PASSWORD: password };
  await using service = await startService('serve', { ...settingsOf(folder), ...admin });
  const { status, token } = await service.logIn(email, password);
  const { json } = await service.send('GET /jb/users/', { token });

  assert.is(status, 200);
  assert.is(json.length, 1);
  assert.is(json[0].email, 'chief@example.test');
  assert.match(service.output.stdout, 'Created the first superuser: chief@example.test');
  assert.not.match(outputOf(service), password);
});

first.run();
