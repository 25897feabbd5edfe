import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as assert from 'uvu/assert';
import { djangoUser } from '../fixtures/django/records.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { makeScratchFolder } from '../support/files.ts';
import { runCommand } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { queryOnce } from '../support/test-server.ts';

const IMPORTED = 15_000;
/** Size of the other fields, so that all records together exceed the heap below. */
const PADDING = 'x'.repeat(8 * 1024);
const MAX_HEAP_MB = 112;
const TELL_PEAK = `--import=${join(import.meta.dirname, '../fixtures/peak-memory.ts')}`;

const start = async (started: AsyncDisposableStack) => ({
  folder: started.use(await makeScratchFolder()),
  server: started.use(await startExternalDatabase()),
});

const many = suiteWith('commands for many people', start, async (_started, { server }) => {
  const { settings, connection } = await server.makeDatabase();
  return { settings, count: async (sql: string) => (await queryOnce(connection, sql)).length };
});

many(`import ${IMPORTED} users who do not fit into memory together`, async ({ folder, settings, count }) => {
  const file = folder.join('many.json');
  const records = function* () {
    for (let index = 0; index < IMPORTED; index += 1) {
      const record = JSON.stringify(djangoUser(`user-${index}@example.org`, { biography: PADDING }));
      yield `${index === 0 ? '[' : ','}\n${record}`;
    }
    yield '\n]\n';
  };
  await pipeline(Readable.from(records()), createWriteStream(file));

  const { code, stdout, stderr } = await runCommand(['import-django', file, '--drop', 'biography'], {
    ...settings,
    NODE_OPTIONS: `--max-old-space-size=${MAX_HEAP_MB} ${TELL_PEAK}`,
  });

  console.log(`${IMPORTED} users, ${Math.round((await stat(file)).size / 1e6)} MB; ${stderr.trim()}`);
  assert.is(code, 0, stderr);
  assert.match(stdout, `\n${IMPORTED} imported\n`);
  assert.is(await count('select distinct email from users'), IMPORTED);
});

many.run();
