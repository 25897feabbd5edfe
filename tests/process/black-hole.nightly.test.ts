import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';
import { startTcpProxy } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const PASSWORD = 'steward-demo-1';
const ACME = 'admin@acme.test';
/** For connection attempts that began during the outage, and for the mail worker. */
const RECOVERY_MS = 60_000;

const start = async (started: AsyncDisposableStack) => {
  const external = started.use(await startExternalDatabase());
  const smtp = started.use(await startSmtpServer());
  const { settings, connection } = await external.makeDatabase();
  const proxy = started.use(await startTcpProxy(connection));
  const { user, password, database } = connection;
  const DATABASE_URL = `postgres://${user}:${password}@127.0.0.1:${proxy.port}/${database}`;
  const all = { ...settings, SMTP_URL: smtp.url, DATABASE_URL };
  const service = started.use(await startService('demo', all));
  const { token } = await service.logIn(ACME, PASSWORD);
  return { proxy, smtp, service, token };
};
type Context = Awaited<ReturnType<typeof start>>;

const hole = suiteWith('a network that drops all packets to the database', start);

const invite = ({ service, token }: Context, email: string) =>
  service.send('POST /jb/users/invitations/', { token, body: { email, client: 1, initial_apps: [] } });

hole('fails requests at their deadline and readiness probes before theirs', async (context) => {
  const { proxy, service, token } = context;
  const warm = await Promise.all(Array.from({ length: 8 }, () => service.send('GET /jb/users/', { token })));
  assert.ok(warm.every(({ status }) => status === 200));

  proxy.dropPackets();
  const order: string[] = [];
  const sent = async (name: string, answer: ReturnType<Service['send']>) => {
    const { status } = await answer;
    order.push(name);
    return status;
  };
  const statuses = await Promise.all([
    sent('ready', service.send('GET !/readyz')),
    sent('status', service.send('GET /status/')),
    sent('read', service.send('GET /jb/users/', { token })),
    sent('write', invite(context, 'lost@guest.test')),
  ]);

  assert.equal(statuses, [503, 503, 503, 503]);
  assert.equal(order.slice(0, 2).sort(), ['ready', 'status']);
  assert.ok((await service.send('GET !/healthz')).status === 200);
});

hole('is detected by the notification listener, which reconnects', async (context) => {
  const { proxy, service, smtp } = context;
  await until('the listener warns', () => service.output.stdout.includes('do not arrive'), RECOVERY_MS);
  proxy.forwardPackets();
  await until('it is ready', async () => (await service.send('GET !/readyz')).status === 200, RECOVERY_MS);
  await invite(context, 'found@guest.test');
  await until('the mail is sent', () => smtp.recipients().includes('found@guest.test'), RECOVERY_MS);

  assert.not.match(service.output.stdout, 'unhandled rejection');
  assert.is(service.output.stderr, '');
});

hole.run();
