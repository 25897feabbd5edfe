import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD } from '../data/content.ts';
import { ROOT } from '../data/people.ts';
import type { Place } from '../usage/place.ts';
import type { Samples } from './samples.ts';

const FOLDER = join(import.meta.dirname, '../peers/django');
/** That of the distribution, which has Django as packages: another one on the path need not. */
const PYTHON = '/usr/bin/python3';
const LISTENS = /Listening at: (http:\S+)/;

const VERSIONS = `
import platform, django, rest_framework, gunicorn, psycopg2
print(f'Python {platform.python_version()}, Django {django.__version__}, REST framework {rest_framework.__version__}')`;
const HASH = `
import sys
from django.conf import settings
settings.configure()
from django.contrib.auth.hashers import make_password
print(make_password(sys.argv[1]))`;

const run = async (program: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(PYTHON, ['-c', program, ...args])).stdout.trim();

/** What this machine has of it, or null where something is missing. */
export const djangoVersions = (): Promise<string | null> => run(VERSIONS).catch(() => null);

/** Its own tokens, one of them Steward's, and users with its own hashes: 390,000 rounds of PBKDF2 or what it has by now. */
const prepare = async ({ database, token }: Place, { djangoLogins }: Samples): Promise<void> => {
  await database.query('drop schema if exists bench_django cascade; create schema bench_django');
  await database.query(`create table bench_django.authtoken_token (
    key varchar(40) primary key, created timestamptz not null, user_id int not null unique)`);
  await database.query(
    'insert into bench_django.authtoken_token select $1, now(), id from users where email = $2',
    [token, ROOT],
  );
  const hash = await run(HASH, PASSWORD);
  await database.query('update users set password_hash = $1 where email = any($2::varchar[])', [
    hash,
    djangoLogins,
  ]);
};

/** Starts it as its own documents say, and answers where it listens. It ends when its input does. */
export const startDjango = async (place: Place, samples: Samples, closing: AsyncDisposableStack) => {
  await prepare(place, samples);
  closing.defer(async () => {
    await place.database.query('drop schema bench_django cascade');
  });
  const { connection, service } = place;
  const child = spawn(PYTHON, ['-m', 'gunicorn', 'peer.wsgi'], {
    cwd: FOLDER,
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      PEER_SETTINGS: JSON.stringify({ connection, baseUrl: service.address }),
    },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  closing.defer(async () => {
    child.kill();
    await ended;
  });
  let log = '';
  for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    log += text;
    const [, address] = LISTENS.exec(log) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return { address, pid: child.pid ?? 0 };
  }
  throw new Error(`The peer django ended instead of starting.\n${log}`);
};
