import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD } from '../data/content.ts';
import { ROOT } from '../data/people.ts';
import type { Environment } from '../environment.ts';
import type { Samples } from './samples.ts';

const FOLDER = join(import.meta.dirname, '../peers/django');
/** The distribution's Python, which has the Debian packages. */
const PYTHON = '/usr/bin/python3';
const LISTENING = /Listening at: (http:\S+)/;

const VERSIONS = `
import platform, django, rest_framework, gunicorn, psycopg2
print(f'Python {platform.python_version()}, Django {django.__version__}, REST framework {rest_framework.__version__}')`;
const HASH = `
import sys
from django.conf import settings
settings.configure()
from django.contrib.auth.hashers import make_password
print(make_password(sys.argv[1]))`;

const runPython = async (program: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(PYTHON, ['-c', program, ...args])).stdout.trim();

/** Describes the installed versions; null if a package is missing. */
export const djangoVersions = (): Promise<string | null> => runPython(VERSIONS).catch(() => null);

/** Gives Django its token table, with Steward's token, and sets Django's default password hash for some users. */
const prepareDatabase = async (
  { database, token }: Environment,
  { djangoLogins }: Samples,
  cleanup: AsyncDisposableStack,
): Promise<void> => {
  await database.query('drop schema if exists bench_django cascade; create schema bench_django');
  cleanup.defer(async () => {
    await database.query('drop schema bench_django cascade');
  });
  await database.query(`create table bench_django.authtoken_token (
    key varchar(40) primary key, created timestamptz not null, user_id int not null unique)`);
  await database.query(
    'insert into bench_django.authtoken_token select $1, now(), id from users where email = $2',
    [token, ROOT],
  );
  await database.query(
    'grant usage on schema bench_django to public; grant all on bench_django.authtoken_token to public',
  );
  const hash = await runPython(HASH, PASSWORD);
  await database.query('update users set password_hash = $1 where email = any($2::varchar[])', [
    hash,
    djangoLogins,
  ]);
};

/** Starts gunicorn, which exits when its standard input closes. */
export const startDjango = async (
  environment: Environment,
  samples: Samples,
  cleanup: AsyncDisposableStack,
) => {
  await prepareDatabase(environment, samples, cleanup);
  const { connection, service } = environment;
  const child = spawn(PYTHON, ['-m', 'gunicorn', 'django.core.wsgi:get_wsgi_application()'], {
    cwd: FOLDER,
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      DJANGO_SETTINGS_MODULE: 'peer.settings',
      PEER_SETTINGS: JSON.stringify({ connection, baseUrl: service.address }),
    },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  cleanup.defer(async () => {
    child.kill();
    await closed;
  });
  let log = '';
  for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    log += text;
    const [, address] = LISTENING.exec(log) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return { address, pid: child.pid ?? 0 };
  }
  throw new Error(`The peer django exited during startup.\n${log}`);
};
