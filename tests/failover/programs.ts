import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

const POSTGRES = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1);

/** As Debian's packages install them. */
export const PROGRAMS = {
  postgres: POSTGRES ?? '/usr/lib/postgresql/15/bin/postgres',
  patroni: '/usr/bin/patroni',
  etcd: '/usr/bin/etcd',
  haproxy: '/usr/sbin/haproxy',
};

export const POSTGRES_FOLDER = dirname(PROGRAMS.postgres);

export const PG_DUMP = join(POSTGRES_FOLDER, 'pg_dump');

export const missingPrograms = (): string[] => Object.values(PROGRAMS).filter((path) => !existsSync(path));
