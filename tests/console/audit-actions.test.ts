import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTION_OPTIONS } from '../../console/src/audit/audit-actions.ts';

const actions = suite('choosing an action of the audit trail');

const matches = (text: string): string[] =>
  ACTION_OPTIONS.filter(({ label }) => label.toLowerCase().includes(text)).map(({ value }) => value);

actions('by a word finds changes of roles in clients, also of client admins', () => {
  assert.equal(matches('role'), ['membership.set-roles', 'user.update-roles']);
  assert.equal(matches('admin'), ['membership.set-roles']);
  assert.equal(matches('superuser'), ['user.update-roles', 'user.make-superuser']);
});

actions.run();
