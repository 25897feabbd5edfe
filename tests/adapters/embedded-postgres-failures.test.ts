import { chmod, readdir, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCluster } from '../../src/adapters/embedded-postgres/cluster.ts';
import { openLogFile } from '../../src/adapters/embedded-postgres/server.ts';
import { readConfig } from '../../src/config/config.ts';
import { openDatabaseHost } from '../../src/server/database-host.ts';
import { makeScratchFolder } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';

const failures = suite('a first start of the embedded database');

/** What a first start says, and leaves, if initdb says this. */
const startWith = async (said: string) => {
  await using folder = await makeScratchFolder();
  // As root, another user runs initdb.
  await chmod(folder.path, 0o755);
  const initdb = folder.join('initdb');
  await writeFile(initdb, `#!/bin/sh\necho '${said}'\nexit 1\n`, { mode: 0o755 });
  const log = await openLogFile(folder.path);
  const binaries = { initdb, postgres: 'none', major: '18' };
  const clusterDir = folder.join('postgres');
  const options = { dataDir: folder.path, clusterDir, account: undefined, binaries, log, settings: {} };
  const { message } = await failureOf(createCluster(options, 'password'));
  await log.close();
  return { message, dataDir: folder.path, left: await readdir(folder.path) };
};

failures('names the folder of a full disk, and leaves nothing half-made', async () => {
  const said = 'FATAL:  could not extend file "base/1/2691": No space left on device';
  const { message, dataDir, left } = await startWith(said);

  assert.match(message, `DATA_DIR ${dataDir} is on a full disk. Free space`);
  assert.not.match(message, said);
  assert.equal(left.sort(), ['initdb', 'postgres.log']);
});

failures('repeats the log if something else is wrong', async () => {
  const said = 'could not resize shared memory segment "/PostgreSQL.1": No space left on device';
  const { message, dataDir } = await startWith(said);

  assert.match(message, `${dataDir}/postgres.log says:\n${said}`);
});

for (const SECRET_KEY of [undefined, 'a secret key that only tests ever use'])
  failures(
    `names DATA_DIR and no file in it if it cannot be written (secret key: ${SECRET_KEY})`,
    async () => {
      const config = readConfig({ DATA_DIR: '/proc', ...(SECRET_KEY && { SECRET_KEY }) });

      const { message } = await failureOf(openDatabaseHost(config));

      assert.match(message, /^DATA_DIR \/proc cannot be used \([a-z ]+\)\./);
    },
  );

failures.run();
