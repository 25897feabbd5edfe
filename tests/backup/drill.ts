import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { checkBackup } from '../../src/backup/restore-backup.ts';
import { readConfig } from '../../src/config/config.ts';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { resolveTlsMode } from '../../src/db/client.ts';
import { withDatabaseHost } from '../../src/server/database-host.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { peakMemoryMb, runCommand, type Service, type Settings } from '../support/service-process.ts';
import { administer, dropStatements } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const PROJECT = join(import.meta.dirname, '../..');

/** Runs a program of the project to its end. @returns its output and the peak of its memory */
export const runMeasured = async (args: string[], settings: Settings) => {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, args, { cwd: PROJECT, env: { PATH, HOME, ...settings } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  let peakMb = 0;
  await until(
    `the end of ${args.join(' ')}`,
    () => {
      peakMb = Math.max(peakMb, peakMemoryMb(child.pid ?? 0) ?? 0);
      return child.exitCode !== null || child.signalCode !== null;
    },
    3_600_000,
  );
  assert.is(child.exitCode, 0, output);
  return { output, peakMb };
};

/** Runs statements on the database of the settings, and returns the rows of each. */
export const queryAll = (settings: Settings, ...statements: string[]): Promise<Record<string, unknown>[][]> =>
  withDatabaseHost(readConfig(settings), async ({ connection }) => {
    const client = new Client(connection);
    await client.connect();
    try {
      const results: Record<string, unknown>[][] = [];
      for (const statement of statements) results.push((await client.query(statement)).rows);
      return results;
    } finally {
      await client.end();
    }
  });

export type TableSums = Record<string, { rows: number; checksum: string }>;

/** The tables that no backup holds: the list of migrations is in its header, that of backups belongs to the installation. */
export const NOT_IN_BACKUPS = ['backups', 'mikro_orm_migrations'];

/** The number of rows of every table, and the sum over the hashes of their texts. */
export const sumsOf = async (settings: Settings): Promise<TableSums> => {
  const [names = []] = await queryAll(
    settings,
    `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
      and relkind in ('r', 'p') and not relispartition`,
  );
  const sum = ({ name }: Record<string, unknown>): string =>
    `select '${name}' as name, count(*)::int as rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as checksum
    from ${name} t`;
  const [, ...sums] = await queryAll(settings, `set timezone = 'UTC'`, ...names.map(sum));
  return Object.fromEntries(
    sums.flat().map(({ name, rows, checksum }) => [name, { rows: Number(rows), checksum: String(checksum) }]),
  );
};

export const without = <T>(tables: Record<string, T>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(tables).filter(([name]) => !names.includes(name)));

/** The tables of the snapshot, as the backup states them. */
export const sumsInBackup = async (file: string): Promise<TableSums> =>
  (await checkBackup(createReadStream(file), null)).manifest.tables;

/** An empty database on the server of TEST_DATABASE_URL, or on a new one. */
export const makeExternalDatabase = async (closing: AsyncDisposableStack): Promise<Settings> => {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) return (await closing.use(await startExternalDatabase()).makeDatabase()).settings;
  const name = `restore_drill_${randomBytes(4).toString('hex')}`;
  const server = await resolveTlsMode(parseDatabaseUrl(url));
  await administer(server, `create database ${name}`);
  closing.defer(() => administer(server, ...dropStatements(name)));
  const DATABASE_URL = url.replace(/\/[^/?]+(?=\?|$)/, `/${name}`);
  return { DATABASE_URL, SECRET_KEY: 'a secret key that only tests ever use' };
};

const SLUG = 'drill-reports';

/** Publishes an app with a file of random bytes in two versions, and loads both. */
export const installPackages = async (
  service: Service,
  token: string,
  settings: Settings,
  folder: string,
) => {
  const source = join(folder, SLUG);
  await mkdir(source);
  await writeFile(join(source, 'content.bin'), randomBytes(300_000));
  for (const version of ['1.0.0', '1.1.0']) {
    const manifest = `slug: ${SLUG}\nversion: ${version}\nlabel: Reports ${version}\nclient: 1\nstacks:\n  - slug: north\n    label: North\n`;
    await writeFile(join(source, 'app.yaml'), manifest);
    for (const args of [
      ['pack', SLUG],
      ['publish', `${SLUG}-${version}.tgz`],
    ]) {
      const { code, stderr } = await runCommand(['apps', ...args], settings, folder);
      assert.is(code, 0, stderr);
    }
    const fetched = await service.send(`POST /app/fetch/${SLUG}/`, { token, body: {} });
    const loaded = await service.send(`POST /app/load/${SLUG}/`, { token });
    assert.equal([fetched.status, loaded.status], [200, 204], fetched.text + loaded.text);
  }
};

/** The app and its versions as the service shows them, and the digests of the files in its store. */
export const describePackages = async (service: Service, token: string, store: string) => {
  const apps = await service.send('GET /jb/apps/', { token });
  const app = apps.json.find(({ slug }: { slug: string }) => slug === SLUG);
  const versions = await service.send(`GET /jb/apps/${app.id}/versions/`, { token });
  const files = ['1.0.0', '1.1.0'].map((version) => join(store, `${SLUG}-${version}.tgz`));
  const bytes = await Promise.all(files.map((file) => readFile(file)));
  const digests = bytes.map((content) => createHash('sha256').update(content).digest('hex'));
  return { app, versions: versions.json, digests };
};

/** Fetches the package from the store again, which compares its bytes with those of the first fetch, and moves between versions. */
export const usePackages = async (service: Service, token: string): Promise<void> => {
  for (const path of [`fetch/${SLUG}`, `rollback/${SLUG}`, `load/${SLUG}`]) {
    const answer = await service.send(`POST /app/${path}/`, { token, body: {} });
    assert.ok(answer.status === 200 || answer.status === 204, `${path}: ${answer.status} ${answer.text}`);
  }
};
