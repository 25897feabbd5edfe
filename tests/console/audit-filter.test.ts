import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { apiFilterOf, kindOf } from '../../console/src/audit/audit-filter.ts';

const filters = suite('the filter of the audit trail');

filters('selects changes, but all that a person did, and all entries of chosen actions', () => {
  assert.is(kindOf({}), 'changes');
  assert.is(kindOf({ target: 'ada@acme.test' }), 'changes');
  assert.is(kindOf({ person: 'ada@acme.test' }), 'changes');
  assert.is(kindOf({ actor: 'ada@acme.test' }), 'all');
  assert.is(kindOf({ action: 'user.update' }), 'all');
  assert.is(kindOf({ action: 'newer.action' }), 'changes');
  assert.is(kindOf({ actor: 'ada@acme.test', kind: 'logins' }), 'logins');
  assert.is(apiFilterOf({ actor: 'ada@acme.test' }).kind, undefined, 'also in the CSV file');
});

filters.run();
