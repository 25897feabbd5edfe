import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConnectionRow } from '../../../src/services/sso/connections.ts';
import { statedBy } from '../../../src/services/sso/stated.ts';

const stated = suite('claims of an identity provider');

const CONNECTION = {
  issuer: 'https://id.acme.test',
  email_claim: 'email',
  first_name_claim: 'given_name',
  last_name_claim: 'family_name',
  groups_claim: '',
  attribute_claims: {},
  required_claim: '',
  required_value: '',
} as ConnectionRow;

const isOfOrganization = (connection: Partial<ConnectionRow>, claims: Record<string, unknown>): boolean => {
  const login = { subject: '1', sid: null, amr: [], authTime: null };
  const all = { email: 'ada@acme.test', ...claims };
  return statedBy({ ...CONNECTION, ...connection }, { ...login, claims: all }).isOfOrganization;
};

const GOOGLE = [
  'https://accounts.google.com',
  'https://accounts.google.com/',
  'https://ACCOUNTS.google.com:443',
];

for (const issuer of GOOGLE)
  stated(`of Google (${issuer}) must name the organization of the address in hd`, () => {
    assert.ok(isOfOrganization({ issuer }, { hd: 'acme.test' }));
    for (const hd of [undefined, '', 'globex.test', ['acme.test'], true])
      assert.not(isOfOrganization({ issuer }, { hd }), String(hd));
  });

stated('of other providers need no hd', () => {
  assert.ok(isOfOrganization({}, {}));
});

stated('must have the required value, alone or in a list', () => {
  const required = { required_claim: 'org', required_value: '42' };
  for (const org of ['42', 42, ['41', '42']]) assert.ok(isOfOrganization(required, { org }), String(org));
  for (const org of [undefined, null, '43', [], [['42']], { 42: true }, '4'])
    assert.not(isOfOrganization(required, { org }), JSON.stringify(org));
  const inherited = { required_claim: '__proto__', required_value: '[object Object]' };
  assert.not(isOfOrganization(inherited, {}));
});

stated('give data permissions as the connection maps them; missing claims give none', () => {
  const attribute_claims = { region: 'regions', team: 'department' };
  const login = { subject: '1', sid: null, amr: [], authTime: null };
  const claims = { email: 'ada@acme.test', regions: ['North'], team: 'red' };

  assert.equal(statedBy({ ...CONNECTION, attribute_claims }, { ...login, claims }).attributes, {
    region: ['North'],
  });
});

stated.run();
