import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import {
  type DatabaseFacts,
  judgeConnections,
  judgePrivileges,
  judgeSearch,
  judgeServer,
  judgeTls,
} from '../../src/doctor/database-findings.ts';

/** A server on which everything is right. */
const FACTS: DatabaseFacts = {
  version: 180_004,
  role: 'steward',
  encoding: 'UTF8',
  maxConnections: 97,
  schema: 'public',
  canUseSchema: true,
  canCreateInSchema: true,
  foreignTables: [],
  hasTrigrams: true,
  canInstallTrigrams: true,
  hasSearchIndex: true,
  isEncrypted: true,
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

findings('fails for an encoding other than UTF-8', () => {
  const [, finding] = judgeServer({ ...FACTS, encoding: 'LATIN1' }, 'The server');

  assert.is(finding?.status, 'failure');
  assert.match(finding?.action ?? '', /encoding 'UTF8'/);
});

type Role = [string, Partial<DatabaseFacts>, RegExp];
const ROLES: Role[] = [
  ['without a schema', { schema: null }, /^Run: create schema authorization steward$/],
  ['without CREATE', { canCreateInSchema: false }, /grant usage, create on schema public/],
  ['that does not own a table', { foreignTables: ['users'] }, /alter table users owner/],
];
for (const [what, facts, action] of ROLES) {
  findings(`a role ${what}: failure`, () => {
    const [finding, ...others] = judgePrivileges({ ...FACTS, ...facts });

    assert.is(finding?.status, 'failure');
    assert.match(finding?.action ?? '', action);
    assert.equal(others, []);
  });
}

for (const [what, facts, status] of [
  ['an index', {}, 'ok'],
  ['no index', { hasSearchIndex: false }, 'warning'],
] as const) {
  findings(`the search of users with ${what}: ${status}`, () => {
    assert.is(judgeSearch({ ...FACTS, ...facts }).status, status);
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

findings('warns if the server has fewer connections than an instance uses', () => {
  assert.is(judgeConnections(FACTS, 97).status, 'ok');
  assert.is(judgeConnections(FACTS, 98).status, 'warning');
});

findings.run();
