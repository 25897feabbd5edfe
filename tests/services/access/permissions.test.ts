import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Action,
  adminOf,
  can,
  canAllOf,
  clientsWhere,
  MEMBER,
  type Roles,
  rolesThatMay,
} from '../../../src/services/access/permissions.ts';

const ADMIN = adminOf(2, 3);
const STAFF: Roles = { ...MEMBER, isStaff: true };
const SUPERUSER: Roles = { ...MEMBER, isSuperuser: true };

const permissions = suite('permissions of roles');

permissions('a client admin manages their own clients only', () => {
  assert.equal(clientsWhere(ADMIN, 'manage-people'), [2, 3]);
  assert.ok(can(ADMIN, 'manage-people', 2));
  assert.not(can(ADMIN, 'manage-people', 1));
});

permissions('staff view all clients and manage none', () => {
  assert.is(clientsWhere(STAFF, 'view'), 'all');
  assert.equal(clientsWhere(STAFF, 'manage-people'), []);
});

permissions('a member may do nothing that needs a role', () => {
  const actions: Action[] = ['view', 'manage-people', 'operate', 'read-audit', 'poll-events', 'administer'];

  assert.equal(
    actions.filter((action) => can(MEMBER, action)),
    [],
  );
});

permissions('a user with two roles may do what either allows', () => {
  const both = { ...adminOf(2), isStaff: true };

  assert.is(clientsWhere(both, 'view'), 'all');
  assert.equal(clientsWhere(both, 'manage-people'), [2]);
});

permissions('a superuser may do what any other role could', () => {
  for (const other of [MEMBER, ADMIN, STAFF, { ...adminOf(2), isStaff: true }, SUPERUSER])
    assert.ok(canAllOf(SUPERUSER, other));
});

permissions('a user who lost a role or a client may do less than before', () => {
  assert.not(canAllOf(adminOf(2), ADMIN));
  assert.not(canAllOf(ADMIN, STAFF));
  assert.not(canAllOf(STAFF, ADMIN));
  assert.not(canAllOf(STAFF, SUPERUSER));
  assert.ok(canAllOf(adminOf(2, 3, 4), ADMIN));
});

permissions('messages name the roles that allow an action', () => {
  assert.is(
    rolesThatMay('view'),
    'client admin, people manager, app manager, help desk, auditor, staff or superuser',
  );
  assert.is(rolesThatMay('manage-people'), 'client admin, people manager or superuser');
  assert.is(rolesThatMay('configure'), 'client admin or superuser');
  assert.is(
    rolesThatMay('read-audit', 'poll-events'),
    'client admin, people manager, app manager, auditor, staff or superuser',
  );
  assert.is(rolesThatMay('administer'), 'superuser');
});

permissions.run();
