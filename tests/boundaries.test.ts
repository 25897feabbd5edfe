import { glob, readFile } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const PROJECT = join(import.meta.dirname, '..');

/**
 * What each folder may import besides itself; `type` means types only. Unlisted folders and files (main, cli, app, demo) wire
 * the parts together and may import everything.
 */
const ARROWS: Record<string, string[]> = {
  entities: [],
  migrations: [],
  'src/lib': [],
  'src/config': ['src/lib'],
  'src/adapters': ['src/lib', 'src/config'],
  'src/db': ['src/lib', 'src/config', 'migrations', 'mikro-orm.config.ts', 'type entities'],
  'src/services': ['entities', 'src/db', 'src/lib', 'type src/adapters'],
  'src/backup': ['migrations', 'src/services', 'src/db', 'src/lib', 'type src/config', 'type src/adapters'],
  'src/integrations': ['entities', 'src/services', 'src/db', 'src/lib'],
  routers: ['src/services', 'src/db', 'src/lib', 'type entities'],
  'src/http': ['routers', 'src/db', 'src/lib', 'type src/services'],
  'src/client': ['src/lib', 'type routers'],
  // The roles and what they allow, which the console shows and asks.
  console: [
    'src/services/access/permissions.ts',
    'src/services/access/action-scopes.ts',
    'src/lib/bigint-json.ts',
    'src/lib/exact-json.ts',
  ],
};

/**
 * The rooms of `src/services`, from the ground up, and the rooms below that each may import. The files beside them wire the rooms
 * together; a room may import the types of `unit-of-work.ts`.
 */
const ROOMS: Record<string, string[]> = {
  outbox: [],
  access: [],
  'rate-limits': [],
  idempotency: ['access'],
  accounts: ['access'],
  audit: ['access', 'accounts'],
  policies: ['outbox'],
  clients: ['access', 'audit', 'policies'],
  auth: ['outbox', 'access', 'rate-limits', 'idempotency', 'accounts', 'audit', 'policies', 'clients'],
  passwords: ['outbox', 'access', 'idempotency', 'accounts', 'audit', 'clients', 'auth'],
  attributes: ['access'],
  packages: ['access', 'idempotency', 'audit', 'attributes'],
  apps: ['access', 'accounts', 'audit', 'clients', 'auth'],
  usage: ['access', 'idempotency', 'accounts', 'clients', 'auth', 'apps'],
  gate: ['outbox', 'access', 'accounts', 'audit', 'attributes', 'policies', 'auth', 'apps', 'usage'],
  users: [
    'outbox',
    'access',
    'accounts',
    'audit',
    'attributes',
    'policies',
    'clients',
    'auth',
    'passwords',
    'apps',
  ],
  'data-permissions': ['access', 'audit', 'attributes', 'apps', 'clients', 'gate', 'packages'],
  invitations: [
    'outbox',
    'access',
    'accounts',
    'audit',
    'policies',
    'clients',
    'auth',
    'passwords',
    'apps',
    'users',
  ],
  sso: ['outbox', 'access', 'accounts', 'audit', 'policies', 'clients', 'auth', 'users', 'invitations'],
  directory: ['outbox', 'access', 'accounts', 'audit', 'policies', 'clients', 'auth', 'users', 'invitations'],
  reminders: ['outbox', 'access', 'accounts', 'audit', 'clients', 'apps', 'users'],
  mail: [
    'outbox',
    'access',
    'accounts',
    'audit',
    'policies',
    'auth',
    'passwords',
    'apps',
    'users',
    'invitations',
    'reminders',
  ],
  events: ['access', 'audit'],
  webhooks: ['outbox', 'access', 'audit', 'clients', 'events'],
  sinks: ['outbox', 'access', 'audit', 'events'],
  openid: ['outbox', 'access', 'accounts', 'audit', 'policies', 'auth', 'apps', 'gate', 'events'],
  operations: [
    'outbox',
    'access',
    'idempotency',
    'accounts',
    'audit',
    'attributes',
    'clients',
    'auth',
    'users',
    'invitations',
  ],
  removals: ['access', 'accounts', 'audit', 'attributes', 'apps', 'usage', 'users'],
  'data-rights': ['access', 'idempotency', 'accounts', 'audit', 'auth', 'usage', 'invitations', 'mail'],
  backups: [],
  attention: ['access', 'clients', 'apps', 'users', 'invitations', 'directory', 'mail'],
};

/** Only these folders may import the packages of HTTP, tRPC, the database, S3 and OpenTelemetry. */
const PACKAGES: { name: RegExp; folders: RegExp }[] = [
  { name: /^(fastify|@fastify\/.*)$/, folders: /^(src\/http\/|src\/app\.ts|tests\/)/ },
  { name: /^node:https?$/, folders: /^(src\/http\/|src\/app\.ts|src\/lib\/guarded-fetch\.ts|tests\/)/ },
  {
    name: /^openid-client$/,
    folders: /^(src\/adapters\/identity-provider\/openid-connect\.ts|src\/demo\/openid-app\.ts|tests\/)/,
  },
  { name: /^scim/, folders: /^(src\/lib\/scim\/|tests\/)/ },
  { name: /^oidc-provider$/, folders: /^(src\/http\/openid\/|tests\/)/ },
  {
    name: /^(@trpc\/.*|trpc-to-openapi)$/,
    folders: /^(routers\/|src\/http\/|src\/client\/|console\/|tests\/)/,
  },
  {
    name: /^(@mikro-orm\/.*|kysely|pg)$/,
    folders:
      /^(entities|migrations|mikro-orm|src\/(services|backup|integrations|demo|db|adapters\/embedded)|tests)/,
  },
  { name: /^@(aws-sdk|smithy)\//, folders: /^(src\/adapters\/(package|backup)-store\/s3-|tests\/)/ },
  { name: /^@opentelemetry\//, folders: /^(src\/adapters\/opentelemetry\/|tests\/)/ },
];

type Import = { file: string; target: string; typeOnly: boolean };

const boundaries = suite('arrows between folders');

const importsOf = async (pattern: string): Promise<Import[]> => {
  const found: Import[] = [];
  for await (const file of glob(pattern, { cwd: PROJECT, exclude: ['**/node_modules/**'] })) {
    const source = await readFile(join(PROJECT, file), 'utf8');
    for (const match of source.matchAll(/^(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'/gms)) {
      found.push({ file, target: match[2] ?? '', typeOnly: match[1] !== undefined });
    }
    for (const match of source.matchAll(/\bimport\(\s*'([^']+)'/g)) {
      found.push({ file, target: match[1] ?? '', typeOnly: false });
    }
  }
  return found;
};

const folderOf = (file: string): string =>
  Object.keys(ARROWS).find((folder) => file.startsWith(`${folder}/`)) ??
  (file === 'mikro-orm.config.ts' ? file : 'elsewhere');

for (const [folder, allowed] of Object.entries(ARROWS)) {
  boundaries(`${folder} imports ${allowed.join(', ') || 'nothing else of the project'}`, async () => {
    const imports = await importsOf(`${folder}/**/*.{ts,tsx}`);
    const strays = imports
      .filter(({ target }) => target.startsWith('.'))
      .map(({ file, target, typeOnly }) => {
        const path = normalize(join(dirname(file), target));
        return { file, typeOnly, path, to: folderOf(path) };
      })
      .filter(
        ({ to, path, typeOnly }) =>
          to !== folder &&
          !allowed.some((other) => other === to || other === path) &&
          !(typeOnly && allowed.includes(`type ${to}`)),
      )
      .map(({ file, to }) => `${file} → ${to}`);

    assert.ok(imports.length > 0, 'a folder without imports proves nothing');
    assert.equal(strays, []);
  });
}

boundaries('rooms of src/services are listed from the ground up, so that they form no circle', async () => {
  const rooms = await Array.fromAsync(glob('src/services/*/', { cwd: PROJECT }));
  const order = Object.keys(ROOMS);
  const upward = Object.entries(ROOMS).flatMap(([room, below]) =>
    below.filter((other) => order.indexOf(other) >= order.indexOf(room)).map((other) => `${room} → ${other}`),
  );

  assert.equal(order.toSorted(), rooms.map((path) => basename(path)).toSorted());
  assert.equal(upward, []);
});

for (const [room, below] of Object.entries(ROOMS)) {
  boundaries(`src/services/${room} imports ${below.join(', ') || 'no other room'}`, async () => {
    const imports = await importsOf(`src/services/${room}/**/*.ts`);
    const strays = imports
      .map(({ file, target, typeOnly }) => ({ file, typeOnly, path: normalize(join(dirname(file), target)) }))
      .filter(({ path }) => path.startsWith('src/services/'))
      .filter(({ path, typeOnly }) => !(typeOnly && path === 'src/services/unit-of-work.ts'))
      .filter(({ path }) => ![room, ...below].some((other) => path.startsWith(`src/services/${other}/`)))
      .map(({ file, path }) => `${file} → ${path}`);

    assert.equal(strays, []);
  });
}

/** The names that import themselves through others: what is left when those that import nothing, or that nothing imports, are taken away. */
const inCircles = (arrows: (readonly [string, string])[]): string[] => {
  const importing = new Set(arrows.map(([from]) => from));
  const imported = new Set(arrows.map(([, to]) => to));
  const left = arrows.filter(([from, to]) => imported.has(from) && importing.has(to));
  return left.length === arrows.length ? [...new Set(left.map(([from]) => from))] : inCircles(left);
};

boundaries('files and folders of the console form no circle', async () => {
  const arrows = (await importsOf('console/src/**/*.{ts,tsx}'))
    .filter(({ target }) => /^\..*\.tsx?$/.test(target))
    .map(({ file, target }) => [file, normalize(join(dirname(file), target))] as const);
  // Files beside the folders wire them together.
  const between = arrows
    .map(([from, to]) => [dirname(from), dirname(to)] as const)
    .filter(([from, to]) => from !== to && from !== 'console/src');

  assert.ok(between.length > 500);
  assert.equal(inCircles(arrows), []);
  assert.equal(inCircles(between), []);
});

boundaries(
  'declares the procedures of a noun in the file that is named after it, or in parts of it',
  async () => {
    const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const index = await readFile(join(PROJECT, 'routers/index.ts'), 'utf8');
    const nouns = [...index.matchAll(/^ {2}(\w+): (\w+),$/gm)].map(([, noun = '', router]) => ({
      noun,
      router,
    }));
    const strays: string[] = [];
    for (const { noun, router } of nouns) {
      const file = `./${kebab(noun)}.ts`;
      if (!index.includes(`import { ${router} } from '${file}';`)) strays.push(`${noun} is not in ${file}`);
      const source = await readFile(join(PROJECT, 'routers', file), 'utf8');
      for (const [, part] of source.matchAll(/^ {2}\.\.\.(\w+Procedures),$/gm))
        if (!new RegExp(`\\b${part}\\b[^;]* from './${kebab(noun)}-`).test(source))
          strays.push(`${part} of ${noun}`);
    }

    assert.ok(nouns.length > 30);
    assert.equal(strays, []);
  },
);

boundaries(
  'keeps the packages of HTTP, tRPC, the database, S3 and OpenTelemetry in their folders',
  async () => {
    const imports = await importsOf('{entities,migrations,routers,src,tests}/**/*.ts');
    const strays = imports
      .filter(({ typeOnly }) => !typeOnly)
      .filter(({ file, target }) =>
        PACKAGES.some(({ name, folders }) => name.test(target) && !folders.test(file)),
      )
      .map(({ file, target }) => `${file} → ${target}`);

    assert.equal(strays, []);
  },
);

boundaries('loads the S3 client only for a store in a bucket', async () => {
  const imports = await importsOf('{entities,migrations,routers,src}/**/*.ts');
  const loaders = imports.filter(({ target, typeOnly }) => /\/s3-[^/]+$/.test(target) && !typeOnly);
  const openers = ['package-store/package-store', 'backup-store/backup-store'];

  assert.equal(
    loaders
      .map(({ file }) => file)
      .filter(
        (file) =>
          !/^src\/adapters\/(package|backup)-store\/(s3-.*|package-store|backup-store)\.ts$/.test(file),
      ),
    [],
  );
  for (const opener of openers) {
    const source = await readFile(join(PROJECT, `src/adapters/${opener}.ts`), 'utf8');
    assert.not.match(source, /^import .*s3-/m);
    assert.match(source, /await import\('\.\/s3-(bucket|backup-store)\.ts'\)/);
  }
});

/** SQL and JavaScript that ask for the time. `clock.now()` and `performance.now()`, which measures durations, are allowed. */
const TIME =
  /(?<![.\w])now\(\)|\bcurrent_(?:date|time|timestamp)\b|\b\w+_timestamp\(\)|\blocaltime(?:stamp)?\b|\bDate\.now\b|\bnew Date\(\)/gi;

const CLOCKS = /^src\/(?:lib\/clock|db\/database-clock)\.ts$/;

boundaries('asks for the time only in the clocks: SQL gets it as a parameter', async () => {
  const found: string[] = [];
  for await (const file of glob('{entities,migrations,routers,src}/**/*.ts', { cwd: PROJECT })) {
    if (CLOCKS.test(file)) continue;
    const source = await readFile(join(PROJECT, file), 'utf8');
    for (const [call] of source.matchAll(TIME)) found.push(`${file}: ${call}`);
  }

  assert.equal(found, []);
});

/** A query for all columns of a table. A subquery that names its columns may be read whole. */
const ALL_COLUMNS =
  /\.selectFrom\('(\w+)(?: as \w+)?'\)(?:(?!\.selectFrom)[^;])*?\.selectAll\('\1'\)|\.selectFrom\('\w+'\)\s*\.selectAll\(\)/g;

boundaries(
  'names the columns of tables: a new column would break prepared statements of a running instance',
  async () => {
    const found: string[] = [];
    for await (const file of glob('src/**/*.ts', { cwd: PROJECT })) {
      const source = await readFile(join(PROJECT, file), 'utf8');
      for (const [statement] of source.matchAll(ALL_COLUMNS)) found.push(`${file}: ${statement}`);
    }

    assert.equal(found, []);
  },
);

/** Identity providers and tickets have times that the clock of a test does not set. */
const HAS_REAL_TIME = /^tests\/(?:http\/sso\/|routers\/tickets)/;

boundaries('takes the dates of tests of the service from their clock', async () => {
  const found: string[] = [];
  for await (const file of glob('tests/{browser,http,routers,services}/**/*.ts', { cwd: PROJECT })) {
    if (HAS_REAL_TIME.test(file)) continue;
    const source = await readFile(join(PROJECT, file), 'utf8');
    for (const [call] of source.matchAll(TIME)) found.push(`${file}: ${call}`);
  }

  assert.equal(found, []);
});

boundaries(
  'makes suites with a before hook in support/suite.ts, which prints what the hook throws',
  async () => {
    const imports = await importsOf('tests/**/*.ts');
    const silent: string[] = [];
    for (const { file } of imports.filter(({ target }) => target === 'uvu')) {
      const source = await readFile(join(PROJECT, file), 'utf8');
      if (/^import \{ (suite|test)\b.* from 'uvu'/m.test(source) && /\.before\(/.test(source))
        silent.push(file);
    }

    assert.equal(silent, []);
  },
);

boundaries.run();
