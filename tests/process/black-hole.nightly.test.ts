import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts';
import { suite } from '../support/suite.ts';
import { startTcpProxy } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const PASSWORD = 'steward-demo-1';
const ACME = 'admin@acme.test';
/** For a request with a deadline of 10 s; the rest allows for a busy machine. */
const ANSWER_MS = 20_000;
/** For a readiness probe, which must respond within 3 s. */
const READY_MS = 8_000;
/** For connection attempts that began during the outage, and for the mail worker. */
const RECOVERY_MS = 60_000;

type Context = {
  database: Awaited<ReturnType<typeof startExternalDatabase>>;
  proxy: Awaited<ReturnType<typeof startTcpProxy>>;
  smtp: TestSmtpServer;
  service: Service;
  token: string;
};

const hole = suite<Context>('a network that drops all packets to the database');

hole.before(async (context) => {
  context.database = await startExternalDatabase();
  context.smtp = await startSmtpServer();
  const { settings, connection } = await context.database.makeDatabase();
  context.proxy = await startTcpProxy(connection);
  const { user, password, database } = connection;
  context.service = await startService('demo', {
    ...settings,
    SMTP_URL: context.smtp.url,
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${context.proxy.port}/${database}`,
  });
  context.token = (await context.service.logIn(ACME, PASSWORD)).token;
});
hole.after(async ({ database, proxy, smtp, service }) => {
  await service[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await smtp.close();
  await database[Symbol.asyncDispose]();
});

const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
  const started = performance.now();
  return [await work, performance.now() - started];
};
const invite = ({ service, token }: Context, email: string) =>
  service.send('POST /jb/users/invitations/', { token, body: { email, client: 1, initial_apps: [] } });

hole('fails requests at their deadline and readiness probes before theirs', async (context) => {
  const { proxy, service, token } = context;
  const warm = await Promise.all(Array.from({ length: 8 }, () => service.send('GET /jb/users/', { token })));
  assert.ok(warm.every(({ status }) => status === 200));

  proxy.dropPackets();
  const [[ready, readyMs], [status, statusMs], [read, readMs], [write, writeMs]] = await Promise.all([
    timed(service.send('GET !/readyz')),
    timed(service.send('GET /status/')),
    timed(service.send('GET /jb/users/', { token })),
    timed(invite(context, 'lost@guest.test')),
  ]);
  console.log(
    `\n# readyz ${Math.round(readyMs)} ms, read ${Math.round(readMs)} ms, write ${Math.round(writeMs)} ms`,
  );

  assert.equal([ready.status, status.status], [503, 503]);
  assert.is(read.status, 503, read.text);
  assert.is(write.status, 503, write.text);
  assert.ok(Math.max(readyMs, statusMs) < READY_MS, `${Math.round(readyMs)}, ${Math.round(statusMs)} ms`);
  assert.ok(Math.max(readMs, writeMs) < ANSWER_MS, `${Math.round(readMs)}, ${Math.round(writeMs)} ms`);
  assert.ok((await service.send('GET !/healthz')).status === 200);
});

hole('is detected by the notification listener, which reconnects', async (context) => {
  const { proxy, service, smtp } = context;
  await until('the listener warns', () => service.output.stdout.includes('do not arrive'), RECOVERY_MS);
  proxy.forwardPackets();
  const [, recoveryMs] = await timed(
    until('it is ready', async () => (await service.send('GET !/readyz')).status === 200, RECOVERY_MS),
  );
  // The worker has polled and sleeps until a notification.
  await sleep(8_000);
  await invite(context, 'found@guest.test');
  const [, mailMs] = await timed(
    until('the mail is sent', () => smtp.recipients().includes('found@guest.test'), RECOVERY_MS),
  );
  console.log(`\n# ready after ${Math.round(recoveryMs)} ms, mail after ${Math.round(mailMs)} ms`);

  assert.not.match(service.output.stdout, 'unhandled rejection');
  assert.is(service.output.stderr, '');
});

hole('leaves stale connections, which are all discarded at once', async (context) => {
  const { proxy, service, token } = context;
  const reads = () => Promise.all(Array.from({ length: 8 }, () => service.send('GET /jb/sites/', { token })));
  await reads();
  proxy.dropPackets();
  proxy.forwardPackets();

  await service.send('GET !/readyz');
  const [answers, ms] = await timed(reads());

  assert.equal([...new Set(answers.map(({ status }) => status))], [200]);
  assert.ok(ms < ANSWER_MS / 2, `${Math.round(ms)} ms`);
});

hole.run();
