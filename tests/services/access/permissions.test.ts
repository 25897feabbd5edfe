import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Action,
  can,
  canAllOf,
  clientsWhere,
  MEMBER,
  type Roles,
  rolesThatMay,
} from '../../../src/services/access/permissions.ts';

const ADMIN: Roles = { ...MEMBER, adminOf: [2, 3] };
const STAFF: Roles = { ...MEMBER, isStaff: true };
const SUPERUSER: Roles = { ...MEMBER, isSuperuser: true };

const permissions = suite('permissions of roles');

permissions('a client admin manages their own clients only', () => {
  assert.equal(clientsWhere(ADMIN, 'manage'), [2, 3]);
  assert.ok(can(ADMIN, 'manage', 2));
  assert.not(can(ADMIN, 'manage', 1));
});

permissions('staff view all clients and manage none', () => {
  assert.is(clientsWhere(STAFF, 'view'), 'all');
  assert.equal(clientsWhere(STAFF, 'manage'), []);
});

permissions('a member may do nothing that needs a role', () => {
  const actions: Action[] = ['view', 'manage', 'operate', 'read-audit', 'poll-events', 'administer'];

  assert.equal(
    actions.filter((action) => can(MEMBER, action)),
    [],
  );
});

permissions('a user with two roles may do what either allows', () => {
  const both = { ...STAFF, adminOf: [2] };

  assert.is(clientsWhere(both, 'view'), 'all');
  assert.equal(clientsWhere(both, 'manage'), [2]);
});

permissions('a superuser may do what any other role could', () => {
  for (const other of [MEMBER, ADMIN, STAFF, { ...STAFF, adminOf: [2] }, SUPERUSER])
    assert.ok(canAllOf(SUPERUSER, other));
});

permissions('a user who lost a role or a client may do less than before', () => {
  assert.not(canAllOf({ ...ADMIN, adminOf: [2] }, ADMIN));
  assert.not(canAllOf(ADMIN, STAFF));
  assert.not(canAllOf(STAFF, ADMIN));
  assert.not(canAllOf(STAFF, SUPERUSER));
  assert.ok(canAllOf({ ...ADMIN, adminOf: [2, 3, 4] }, ADMIN));
});

permissions('messages name the roles that allow an action', () => {
  assert.is(rolesThatMay('view'), 'client admin, staff or superuser');
  assert.is(rolesThatMay('manage'), 'client admin or superuser');
  assert.is(rolesThatMay('read-audit', 'poll-events'), 'client admin, staff or superuser');
  assert.is(rolesThatMay('administer'), 'superuser');
});

permissions.run();
