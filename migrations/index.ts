import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Migration } from '@mikro-orm/migrations';

/** The lock of PostgreSQL's chapter 13.3. */
export type LockMode =
  | 'SHARE ROW EXCLUSIVE'
  | 'SHARE'
  | 'SHARE UPDATE EXCLUSIVE'
  | 'EXCLUSIVE'
  | 'ACCESS EXCLUSIVE';

/** The strongest lock that a migration takes on each table that exists before it. `SHARE` and stronger ones block writers. */
export type Locks = Readonly<Record<string, LockMode>>;

type MigrationClass = {
  new (...args: ConstructorParameters<typeof Migration>): Migration & { up(): void };
  readonly locks?: Locks;
};

/** `0001-schema.ts`, or compiled. Names are stored in the database: never rename a released migration. */
const FILE = /^(\d{4}-[a-z0-9-]+)\.[jt]s$/;

const nameOf = (file: string): string => file.replace(FILE, '$1');

/**
 * A migration that takes its locks before it changes anything. Otherwise it could hold the lock of one table while a statement takes
 * long, and then wait for a request that has been waiting for that table: after a second, PostgreSQL would end the request.
 */
const lockFirst = (Changes: MigrationClass, locks: Locks): MigrationClass =>
  class extends Changes {
    override up(): void {
      for (const [table, mode] of Object.entries(locks)) this.addSql(`lock table ${table} in ${mode} mode`);
      super.up();
    }
  };

const load = async (path: string, file: string) => {
  // Each file exports the class alone.
  const exported = (await import(path)) as Record<string, MigrationClass>;
  const [migration] = Object.values(exported);
  if (!migration) throw new Error(`${file} exports no migration.`);
  const { locks = {} } = migration;
  return { name: nameOf(file), class: lockFirst(migration, locks), locks };
};

export type Migrations = Awaited<ReturnType<typeof load>>[];

/** The migrations of a folder, in execution order: that of their numbers. A start usually applies none, and needs only their names. */
export const readMigrations = (folder: string) => {
  const files = readdirSync(folder)
    .filter((file) => FILE.test(file))
    .toSorted();
  return {
    names: files.map(nameOf),
    load: (): Promise<Migrations> => Promise.all(files.map((file) => load(join(folder, file), file))),
  };
};

export type MigrationSet = ReturnType<typeof readMigrations>;

/** Of this folder. */
export const MIGRATIONS: MigrationSet = readMigrations(import.meta.dirname);
