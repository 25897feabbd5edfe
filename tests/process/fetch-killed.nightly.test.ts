import { mkdir, readdir } from 'node:fs/promises';
import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { KEYS } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { BUCKET, startS3Server } from '../support/s3-server.ts';
import { startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';

const killed = suite('a service that is killed while it fetches a package');

const filesIn = async (path: string): Promise<string[]> => (await readdir(path, { recursive: true })).sort();

killed('leaves no rows and no files, and can fetch it after the next start', async () => {
  await using folder = await makeScratchFolder();
  await using postgres = await startExternalDatabase();
  await using s3 = await startS3Server();
  const { settings, connection } = await postgres.makeDatabase();
  const TMPDIR = folder.join('tmp');
  await mkdir(TMPDIR);
  await mkdir(folder.join('data'));
  const all = {
    ...settings,
    ...KEYS,
    TMPDIR,
    DATA_DIR: folder.join('data'),
    APP_STORE: `s3://${BUCKET}`,
    APP_STORE_ENDPOINT: s3.endpoint,
  };
  await using client = Object.assign(new Client(connection), {
    [Symbol.asyncDispose]: (): Promise<void> => client.end(),
  });
  await client.connect();
  const countsOf = async () =>
    (
      await client.query(`
        select (select count(*)::int from fetched_packages) as packages,
               (select count(*)::int from audit_entries where action like 'app.%-package') as audited`)
    ).rows;

  await using service = await startService('demo', all);
  const { token } = await service.logIn('staff@steward.test', 'steward-demo-1');
  const [filesBefore, countsBefore] = [await filesIn(folder.path), await countsOf()];
  s3.conduct.fault = 'stalls';
  s3.conduct.affects = (method, path) => method === 'GET' && path.endsWith('.tgz');
  const answer = service.send('POST /app/fetch/sales/', { token, body: {} }).catch((_gone: unknown) => null);
  await until('the package is half sent', () => s3.failedRequests.length > 0);
  await service.kill('SIGKILL');
  s3.conduct.fault = null;

  assert.is(await answer, null, 'it must not have been answered');
  assert.equal(await filesIn(folder.path), filesBefore);
  assert.equal(await countsOf(), countsBefore);
  await using second = await startService('serve', all);
  const fetched = await second.send('POST /app/fetch/sales/', { token, body: {} });
  const loaded = await second.send('POST /app/load/sales/', { token });
  assert.is(fetched.json.message, 'Loaded sales version 1.1.0');
  assert.is(loaded.status, 204);
  assert.equal(await countsOf(), [{ packages: 1, audited: 2 }]);
  assert.equal(await filesIn(folder.path), filesBefore);
});

killed.run();
