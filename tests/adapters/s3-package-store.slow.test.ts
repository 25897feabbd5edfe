import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import { testPackageStore } from '../support/package-stores.ts';
import { setCredentials, startS3Server, storeOn } from '../support/s3-server.ts';

setCredentials();

const CONDITIONS = ['obeyed', 'ignored', 'unknown'] as const;
/** All start before the first suite runs: uvu does not wait for what a file awaits between two suites. */
const servers = await Promise.all(CONDITIONS.map((condition) => startS3Server({ condition, fault: null })));

for (const server of servers) {
  const name = `S3 (If-None-Match ${server.conduct.condition})`;
  testPackageStore(name, (use) => {
    // How long 20 publishers may take from lookup to write on a busy machine.
    const settleMs = use === 'concurrent' ? 2000 : 1;
    return storeOn(server, `stores/${randomUUID()}`, { settleMs });
  });
}

const closing = suite('S3 servers');
closing('are closed', async () => {
  for (const server of servers) await server[Symbol.asyncDispose]();
});
closing.run();
