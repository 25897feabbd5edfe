import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { initializeDataDir } from '../support/test-server.ts';
import { eventually, until } from '../support/time.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const RULES = join(DEPLOY, 'prometheus/alerts.yml');
const TESTS = join(DEPLOY, 'prometheus/alerts.test.yml');
const DASHBOARD = join(DEPLOY, 'grafana/steward.json');

/** Only the parts that the tests read. */
type Rules = { groups: { rules: { alert: string; expr: string }[] }[] };
type Dashboard = { panels: { title: string; targets: { expr: string }[] }[] };

const run = promisify(execFile);
const prometheus = suite('Prometheus configuration');

prometheus('is valid, and every alert fires on the series that should cause it', async () => {
  const rules: Rules = parse(await readFile(RULES, 'utf8'));
  const tests = await readFile(TESTS, 'utf8');
  const untested = rules.groups
    .flatMap(({ rules: all }) => all)
    .filter(({ alert }) => !tests.includes(`labels: '{alertname="${alert}"}', value: 1`));

  assert.equal(untested, []);
  await run('promtool', ['check', 'config', join(DEPLOY, 'prometheus/prometheus.yml')]);
  await run('promtool', ['test', 'rules', TESTS]);
});

prometheus('scrapes the service, and every query of dashboard and alerts finds series', async () => {
  await using folder = await makeScratchFolder();
  const metricsPort = await freePort();
  const settings = {
    DATA_DIR: await initializeDataDir(folder.join('data')),
    METRICS_PORT: String(metricsPort),
    DEMO: '1',
    BACKUP_TARGET: `file:${folder.join('backups')}`,
    EVENT_FILE: folder.join('events.jsonl'),
  };
  await using service = await startService('serve', settings);
  const { query, stop } = await startPrometheus(folder.path, metricsPort);
  try {
    await service.logIn('root@steward.test', 'steward-demo-1');
    await service.send('POST /api-token-auth/', {
      body: { username: 'root@steward.test', password: 'wrong' },
    });
    await until('Prometheus has two scrapes', async () => (await query('rate(up[10s])')) === 1);
    await until('a backup is reported', async () => (await query('steward_backup_age_seconds')) === 1);
    const dashboard: Dashboard = JSON.parse(await readFile(DASHBOARD, 'utf8'));
    const rules: Rules = parse(await readFile(RULES, 'utf8'));
    // A rate needs two scrapes after the logins.
    await eventually(async () => {
      const empty: string[] = [];
      for (const { title, targets } of dashboard.panels)
        for (const { expr } of targets)
          if ((await query(expr.replaceAll('$__rate_interval', '1m'))) === 0) empty.push(`${title}: ${expr}`);
      for (const { rules: all } of rules.groups)
        for (const { alert, expr } of all)
          for (const [name] of expr.matchAll(/\b(steward|nodejs)_\w+/g))
            if ((await query(name)) === 0) empty.push(`${alert}: ${name}`);

      assert.equal(empty, []);
    });
  } finally {
    await stop();
  }
});

/** Starts a server that scrapes the service every second. `query` returns the number of series of a query's result. */
const startPrometheus = async (folder: string, metricsPort: number) => {
  const port = await freePort();
  const config = await readFile(join(DEPLOY, 'prometheus/prometheus.yml'), 'utf8');
  const file = join(folder, 'prometheus.yml');
  await writeFile(
    file,
    config
      .replace('127.0.0.1:9464', `127.0.0.1:${metricsPort}`)
      .replace('alerts.yml', RULES)
      .replaceAll(': 15s', ': 1s'),
  );
  const address = `127.0.0.1:${port}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const query = async (expression: string): Promise<number> => {
    const url = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`;
    const response = await fetch(url).catch(() => null);
    // It answers 503 until it has read its storage.
    if (!response || response.status === 503) return 0;
    const answer = (await response.json()) as { data?: { result: unknown[] }; error?: string }; // Prometheus' API
    if (!answer.data) throw new Error(`${expression}: ${answer.error}`);
    return answer.data.result.length;
  };
  return {
    query,
    stop: async (): Promise<void> => {
      child.kill();
      await exited;
    },
  };
};

prometheus.run();
