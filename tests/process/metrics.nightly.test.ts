import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { until } from '../support/time.ts';

const ADMIN = 'root@steward.test';
const PASSWORD = 'steward-demo-1';
const metrics = suite('GET /metrics');

const startDemo = async (path: string, settings: Record<string, string> = {}) => {
  const port = String(await freePort());
  const service = await startService('demo', { DATA_DIR: path, METRICS_PORT: port, ...settings });
  const get = (headers: Record<string, string>) => fetch(`http://127.0.0.1:${port}/metrics`, { headers });
  const scrape = async (headers: Record<string, string> = {}): Promise<string> => {
    let response = await get(headers);
    // A worker may be too busy to report in time. Prometheus would scrape again, too.
    await until('all workers report', async () => {
      if (response.status === 503) response = await get(headers);
      return response.status !== 503;
    });
    assert.is(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    return response.text();
  };
  return { service, port, scrape };
};

/** The value of a series, or undefined. */
const sample = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

const LOGINS = (outcome: string): string => `steward_logins_total{outcome="${outcome}"}`;
const RESPONSES = (labels: string): string => `steward_http_response_duration_seconds_count{${labels}}`;

metrics('counts responses, procedures and logins by route and outcome, and names no person', async () => {
  await using folder = await makeDemoDir();
  const { service, port, scrape } = await startDemo(folder.path);
  await using _service = service;
  const { token } = await service.logIn(ADMIN, PASSWORD);
  const credentials = { username: ADMIN, password: 'wrong-password' };
  await service.send('POST /api-token-auth/', { body: credentials });
  await service.send(`GET /jb/users/${ADMIN}/`, { token });

  const text = await scrape();

  assert.is(sample(text, LOGINS('ok')), 1);
  assert.is(sample(text, LOGINS('invalid-credentials')), 1);
  assert.is(sample(text, RESPONSES('method="GET",route="/api/v1/jb/users/:email/",status="200"')), 1);
  assert.is(sample(text, 'steward_procedure_duration_seconds_count{procedure="users.get",outcome="ok"}'), 1);
  assert.is(sample(text, 'steward_database_up'), 1);
  for (const secret of ['root@', 'steward.test', token, 'wrong-password', 'acme'])
    assert.not.ok(text.includes(secret), secret);
  // Nothing else is on its port.
  assert.is((await fetch(`http://127.0.0.1:${port}/`)).status, 404);
  assert.is((await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST' })).status, 405);
  // After its start, the service creates them in the background.
  const hasMonths = async () => (sample(await scrape(), 'steward_usage_months_ahead') ?? 0) >= 1;
  await until('the next months of the usage log exist', hasMonths);
});

metrics('sums over all workers', async () => {
  const requests = 20;
  await using folder = await makeDemoDir();
  const { service, scrape } = await startDemo(folder.path, { WORKERS: '2', LOG_LEVEL: 'info' });
  await using _service = service;
  for (let count = 0; count < requests; count += 1)
    await fetch(`${service.address}/avatars/a.svg`, { headers: { connection: 'close' } });
  const series = RESPONSES('method="GET",route="/avatars/:file",status="200"');

  await until('both workers report', async () => sample(await scrape(), series) === requests);
  const text = await scrape();

  assert.is(sample(text, 'steward_database_up'), 1);
  assert.is(text.match(/^steward_build_info/gm)?.length, 1);
});

metrics('requires METRICS_TOKEN if it is set', async () => {
  const token = 'the-token-of-prometheus';
  await using folder = await makeDemoDir();
  const { service, port, scrape } = await startDemo(folder.path, { METRICS_TOKEN: token });
  await using _service = service;
  const statusWith = async (authorization?: string): Promise<number> => {
    const headers = authorization === undefined ? {} : { authorization };
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers });
    assert.is(response.headers.get('www-authenticate'), response.status === 401 ? 'Bearer' : null);
    return response.status;
  };

  for (const refused of [undefined, token, `Basic ${token}`, `Bearer ${token}x`])
    assert.is(await statusWith(refused), 401, refused);
  assert.is(await statusWith(`bearer ${token}`), 200);
  const text = await scrape({ authorization: `Bearer ${token}` });
  assert.is(sample(text, 'steward_database_up'), 1);
  assert.ok((sample(text, 'steward_database_connections_max') ?? 0) >= 1);
  assert.is(sample(text, 'steward_mail_failures_total{cause="login"}'), 0);
  assert.not.ok(service.output.stdout.includes(token));
});

metrics.run();
