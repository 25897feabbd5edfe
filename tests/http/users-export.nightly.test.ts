import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { unzip } from '../support/files.ts';
import { ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const exporting = appSuite('export of many entries');

const [FEW, MANY] = [18_000, 90_000];
const MAX_GROWTH_MB = 16;
const SAMPLE_BYTES = 2 ** 19;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const usedMb = (): number => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};

const addEntries = (app: TestApp, email: string, count: number) =>
  sql`insert into usage_entries (app_id, occurred_at, user_id, email, full_name, action, extra)
    select ${SALES}, ${app.clock.now()}::timestamptz - n * interval '15 seconds', (select id from users where email = ${email}), ${email}, 'A B', 'OPEN',
      json_build_object('filler', md5(n::text), 'n', n) from generate_series(1, ${count}) n`.execute(
    app.db(),
  );

/** The archive, and the peak of the memory in use without it. */
const download = async (app: TestApp, email: string) => {
  const headers = { authorization: `Token ${await app.tokenOf(ROOT)}` };
  const request = get(`${app.server.listeningOrigin}/api/v1/jb/users/${email}/export/`, { headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what the event has
  const chunks: Buffer[] = [];
  let [bytes, sampled, peakMb] = [0, 0, 0];
  for await (const chunk of response) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes - sampled < SAMPLE_BYTES) continue;
    sampled = bytes;
    peakMb = Math.max(peakMb, usedMb() - bytes / 2 ** 20);
  }
  return { archive: Buffer.concat(chunks), peakMb };
};

exporting('takes the same memory for five times as many', async ({ app }) => {
  await addEntries(app, GRACE, FEW);
  await addEntries(app, ADA, MANY);
  await app.server.listen({ port: 0, host: '127.0.0.1' });

  const few = await download(app, GRACE);
  const many = await download(app, ADA);
  const growth = Math.round(many.peakMb - few.peakMb);
  const lines = (await unzip(many.archive)).get('usage.json')?.split('\n').length ?? 0;
  assert.ok(lines > MANY, `${lines} lines`);
  assert.ok(growth < MAX_GROWTH_MB, `${growth} MB`);
});

exporting.run();
