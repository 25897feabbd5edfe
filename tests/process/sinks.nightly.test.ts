import { readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AUTHORITY } from '../support/certificates.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { makeScratchFolder } from '../support/files.ts';
import { peakMemoryMb, startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const ADMIN = 'root@steward.test';
const PASSWORD = 'steward-demo-1';
const SECRET = 'Bearer a-secret-of-the-collector';

const sinks = suite('a service with event sinks');

const linesIn = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean);

const scrape = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

sinks('continues with a new file after logrotate, ignores SIGHUP, and writes with two workers', async () => {
  await using folder = await makeDemoDir();
  await using logs = await makeScratchFolder();
  const path = logs.join('events.jsonl');
  const settings = { DATA_DIR: folder.path, EVENT_FILE: path, WORKERS: '2' };
  await using service = await startService('demo', settings);
  const { token } = await service.logIn(ADMIN, PASSWORD);
  await until('the login is in the file', async () =>
    (await linesIn(path)).join().includes('login.token_created'),
  );
  await rename(path, `${path}.1`);
  process.kill(service.pid, 'SIGHUP');
  const before = (await linesIn(`${path}.1`)).length;
  await service.send('POST /api-token-auth/', { body: { username: ADMIN, password: 'wrong' } });
  await until('the next event is in the new file', async () => (await linesIn(path)).length > 0);

  assert.ok(service.isRunning());
  assert.is((await linesIn(`${path}.1`)).length, before);
  const { json } = await service.send('GET /jb/events/?limit=1000', { token });
  assert.equal(
    [...(await linesIn(`${path}.1`)), ...(await linesIn(path))].map((line) => JSON.parse(line)),
    json,
  );
});

sinks('starts and answers while no sink takes events, says so once, and names no secret', async () => {
  await using folder = await makeDemoDir();
  await using logs = await makeScratchFolder();
  // It accepts connections, and never reads.
  const silent = createServer((socket) => socket.pause().on('error', () => {})).listen(0, '127.0.0.1');
  const [ca, authorization] = [logs.join('ca'), logs.join('authorization')];
  await writeFile(ca, AUTHORITY);
  await writeFile(authorization, SECRET);
  const [metricsPort, deadPort] = [await freePort(), await freePort()];
  const address = silent.address();
  const settings = {
    DATA_DIR: folder.path,
    METRICS_PORT: String(metricsPort),
    EVENT_FILE: logs.join('missing', 'events.jsonl'),
    EVENT_SYSLOG_URL: `syslog+tcp://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`,
    EVENT_HTTP_URL: `https://localhost:${deadPort}/path-with-a-secret`,
    EVENT_HTTP_AUTHORIZATION_FILE: authorization,
    EVENT_CA_FILE: ca,
  };
  await using service = await startService('demo', settings);
  const { token } = await service.logIn(ADMIN, PASSWORD);
  for (let n = 0; n < 20; n++) {
    const { status } = await service.send('PATCH /jb/users/ada@acme.test/', {
      token,
      body: { first_name: `A${n}` },
    });
    assert.is(status, 200);
  }
  const failing = (sink: string) => `steward_sink_failing{sink="${sink}"} 1`;
  await until('the failures are in the metrics', async () => {
    const text = await scrape(metricsPort);
    return text.includes(failing('file')) && text.includes(failing('http'));
  });
  await until('it was retried', async () =>
    /steward_sink_seconds_behind\{sink="file"\} ([3-9]|\d\d)/.test(await scrape(metricsPort)),
  );

  const log = service.output.stdout
    .split('\n')
    // A busy machine comes here after the 40 s in which the third one must answer.
    .filter((line) => line.includes('a sink takes no events') && !line.includes('"sink":"syslog"'));
  assert.is(log.length, 2, log.join('\n'));
  assert.match(log.join(), /"sink":"file","reason":"[^"]+: no such file or directory"/);
  assert.match(log.join(), /"sink":"http","reason":"[^"]+: connection refused"/);
  assert.not.match(
    service.output.stdout + service.output.stderr,
    /a-secret-of-the-collector|path-with-a-secret/,
  );
  assert.ok((peakMemoryMb(service.pid) ?? 0) < 400);
  // It ends, even if something still waits.
  await service.kill('SIGTERM');
  silent.close();
});

sinks.run();
