import * as assert from 'uvu/assert';
import { runCommand, type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { makeDataDir } from '../support/test-server.ts';

type Context = { folder: Awaited<ReturnType<typeof makeDataDir>>; service: Service };

const beside = suite<Context>('commands beside a service with the embedded database');

beside.before(async (context) => {
  context.folder = await makeDataDir();
  context.service = await startService('serve', { DATA_DIR: context.folder.path });
});
beside.after(async ({ folder, service }) => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

beside('create-admin creates a superuser who can log in immediately', async ({ folder, service }) => {
  const password = 'correct horse battery';

  const { code, stderr } = await runCommand(['create-admin', 'late@example.test'], {
    DATA_DIR: folder.path,
    ADMIN_PASSWORD: password,
  });

  const { status } = await service.logIn('late@example.test', password);
  assert.is(code, 0, stderr);
  assert.is(status, 200);
});

beside('migrate finds nothing to do', async ({ folder }) => {
  const { code, stdout, stderr } = await runCommand(['migrate'], { DATA_DIR: folder.path });

  assert.is(code, 0, stderr);
  assert.is(stdout, 'No pending migrations.\n');
});

beside('two of them run concurrently', async ({ folder }) => {
  const outcomes = await Promise.all(
    ['a@example.test', 'b@example.test'].map((email) =>
      runCommand(['create-admin', email], { DATA_DIR: folder.path }),
    ),
  );

  assert.equal(
    outcomes.map(({ code, stderr }) => [code, stderr]),
    [
      [0, ''],
      [0, ''],
    ],
  );
});

beside.run();
