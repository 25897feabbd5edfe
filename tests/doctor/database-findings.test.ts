import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { checkExpiry } from '../../src/doctor/certificates.ts';
import {
  type DatabaseFacts,
  judgeClock,
  judgeConnections,
  judgeMigrations,
  judgePrivileges,
  judgeSearch,
  judgeServer,
  judgeTls,
} from '../../src/doctor/database-findings.ts';
import type { Result } from '../../src/doctor/finding.ts';

/** A server on which everything is right. */
const FACTS: DatabaseFacts = {
  version: 180_004,
  role: 'steward',
  isReadOnly: false,
  encoding: 'UTF8',
  maxConnections: 97,
  schema: 'public',
  canUseSchema: true,
  canCreateInSchema: true,
  canCreateTemporaryTables: true,
  foreignTables: [],
  hasTrigrams: true,
  canInstallTrigrams: true,
  hasSearchIndex: true,
  isEncrypted: true,
  clockAheadMs: 0,
  roundTripMs: 1,
};
const REMOTE: Connection = { host: 'db.example', port: 5432, user: 'u', password: '', database: 'd' };

const findings = suite('steward doctor: database');

for (const [version, expected] of [
  [130_009, 'failure'],
  [140_000, 'ok'],
  [180_004, 'ok'],
  [190_000, 'warning'],
] as const) {
  findings(`version ${version}: ${expected}`, () => {
    const [server] = judgeServer({ ...FACTS, version }, 'The server');

    assert.is(server?.status, expected);
    assert.match(server?.message ?? '', `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}`);
  });
}

for (const [what, facts, hint] of [
  ['a read-only server', { isReadOnly: true }, /Name the primary in DATABASE_URL/],
  ['an encoding other than UTF-8', { encoding: 'LATIN1' }, /encoding 'UTF8'/],
] as const) {
  findings(`fails for ${what}`, () => {
    const [, finding] = judgeServer({ ...FACTS, ...facts }, 'The server');

    assert.is(finding?.status, 'failure');
    assert.match(finding?.action ?? '', hint);
  });
}

type Role = [string, Partial<DatabaseFacts>, string | null, Result['status'], RegExp];
const ROLES: Role[] = [
  ['without a schema', { schema: null }, null, 'failure', /^Run: create schema authorization steward$/],
  ['without CREATE', { canCreateInSchema: false }, null, 'failure', /grant usage, create on schema public/],
  ['whose partition is refused', {}, 'permission denied', 'failure', /grant usage, create/],
  ['that does not own a table', { foreignTables: ['users'] }, null, 'failure', /alter table users owner/],
  ['without temporary tables', { canCreateTemporaryTables: false }, null, 'warning', /grant temporary/],
];
for (const [what, facts, refusal, status, action] of ROLES) {
  findings(`a role ${what}: ${status}`, () => {
    const [finding, ...others] = judgePrivileges({ ...FACTS, ...facts }, refusal);

    assert.is(finding?.status, status);
    assert.match(finding?.action ?? '', action);
    assert.equal(others, []);
  });
}

for (const [what, facts, isMigrated, status] of [
  ['an index', {}, true, 'ok'],
  ['no index', { hasSearchIndex: false }, true, 'warning'],
  ['an empty database', { hasSearchIndex: false, hasTrigrams: false }, false, 'ok'],
  [
    'no pg_trgm on the server',
    { hasSearchIndex: false, hasTrigrams: false, canInstallTrigrams: false },
    true,
    'warning',
  ],
] as const) {
  findings(`the search of users with ${what}: ${status}`, () => {
    assert.is(judgeSearch({ ...FACTS, ...facts }, isMigrated).status, status);
  });
}

for (const [what, connection, facts, status] of [
  ['a Unix socket', { ...REMOTE, host: '/run' }, { isEncrypted: false }, 'ok'],
  ['clear text on loopback', { ...REMOTE, host: '127.0.0.1' }, { isEncrypted: false }, 'ok'],
  ['clear text to another machine', REMOTE, { isEncrypted: false }, 'warning'],
  ['TLS without verification', { ...REMOTE, tls: { mode: 'require' } }, {}, 'warning'],
  ['TLS with verification', { ...REMOTE, tls: { mode: 'verify-full' } }, {}, 'ok'],
] as const) {
  findings(`${what}: ${status}`, () => {
    assert.is(judgeTls({ ...FACTS, ...facts }, connection).status, status);
  });
}

for (const [clockAheadMs, roundTripMs, status] of [
  [1_900, 1, 'ok'],
  [-1_900, 1, 'ok'],
  [2_500, 1_000, 'ok'],
  [2_500, 1, 'warning'],
  [-60_000, 1, 'warning'],
] as const) {
  findings(`a clock that is ${clockAheadMs} ms ahead, known to ${roundTripMs} ms: ${status}`, () => {
    assert.is(judgeClock({ ...FACTS, clockAheadMs, roundTripMs }).status, status);
  });
}

findings('says in which direction the clock is wrong', () => {
  assert.match(judgeClock({ ...FACTS, clockAheadMs: 60_000 }).message, '60 s behind the database');
  assert.match(judgeClock({ ...FACTS, clockAheadMs: -60_000 }).message, "60 s ahead of the database's");
});

findings('warns if the server has fewer connections than an instance uses', () => {
  assert.is(judgeConnections(FACTS, 97).status, 'ok');
  assert.is(judgeConnections(FACTS, 98).status, 'warning');
});

type Level = [string, Parameters<typeof judgeMigrations>[0], Result['status']];
const LEVELS: Level[] = [
  ['an empty database', null, 'ok'],
  ['all migrations', { pending: [], unknown: [] }, 'ok'],
  ['pending migrations', { pending: ['0006-audit'], unknown: [] }, 'warning'],
  ['migrations of a newer version', { pending: [], unknown: ['0099-later'] }, 'ok'],
  ['migrations of another version', { pending: ['0006-audit'], unknown: ['0005-other'] }, 'failure'],
];
for (const [what, level, status] of LEVELS) {
  findings(`${what}: ${status}`, () => {
    assert.is(judgeMigrations(level).status, status);
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;
for (const [days, status, message] of [
  [-1, 'failure', 'It expired on 2025-12-31.'],
  [0.5, 'warning', 'It expires within a day, on 2026-01-01.'],
  [1, 'warning', 'It expires in 1 day, on 2026-01-02.'],
  [5, 'warning', 'It expires in 5 days, on 2026-01-06.'],
  [60, 'ok', 'It is valid until 2026-03-02.'],
] as const) {
  findings(`a certificate that ends in ${days} days: ${status}`, () => {
    const now = new Date('2026-01-01T00:00:00Z');
    const certificate = { validToDate: new Date(now.getTime() + days * DAY_MS) };
    const finding = checkExpiry('It', certificate, now);

    assert.equal([finding.status, finding.message], [status, message]);
  });
}

findings.run();
