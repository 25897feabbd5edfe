import { readdir } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initializeDemoDir } from '../support/demo-data.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand, startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const scheduled = suite('scheduled backups of a service');

const archives = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.tar'));

scheduled('makes one with two workers, reports it, and not again after a restart', async () => {
  await using folder = await makeScratchFolder();
  const target = folder.join('backups');
  const port = await freePort();
  const settings = {
    DATA_DIR: await initializeDemoDir(folder.join('data')),
    BACKUP_TARGET: `file:${target}`,
    BACKUP_PASSPHRASE: 'correct horse battery staple',
    METRICS_PORT: String(port),
    WORKERS: '2',
  };
  /** Empty while nothing listens. */
  const scrape = (): Promise<string> =>
    fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => '',
    );
  const age = async (): Promise<number> =>
    Number(/^steward_backup_age_seconds (\S+)$/m.exec(await scrape())?.[1]);

  const first = await startService('demo', settings);
  await until('the first backup is reported', async () => (await age()) >= 0);
  const written = await archives(target);
  const reported = await scrape();
  await first.kill('SIGKILL');
  await using second = await startService('serve', settings);
  await until('the service reports the age again', async () => (await age()) >= 0);
  await second.kill('SIGTERM');

  assert.is(written.length, 1);
  assert.match(reported, /^steward_backup_interval_seconds 86400$/m);
  assert.equal(await archives(target), written);
  const [name = ''] = written;
  const { DATA_DIR: _old, ...rest } = settings;
  const restored = await runCommand(['restore', `${target}/${name}`], {
    ...rest,
    DATA_DIR: folder.join('restored'),
  });
  assert.is(restored.code, 0, restored.stderr);
  assert.ok((await readdir(folder.join('restored'))).includes('secret-key'));
});

scheduled.run();
