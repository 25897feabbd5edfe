import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTION_OPTIONS, operationSentenceOf, sentenceOf } from '../../console/src/audit/audit-actions.ts';

const actions = suite('choosing an action of the audit trail');

const matches = (text: string): string[] =>
  ACTION_OPTIONS.filter(({ label }) => label.toLowerCase().includes(text)).map(({ value }) => value);

actions('by a word finds changes of roles in clients, also of client admins', () => {
  assert.equal(matches('role'), ['membership.set-roles', 'user.update-roles']);
  assert.equal(matches('admin'), ['membership.set-roles']);
  assert.equal(matches('superuser'), ['user.update-roles', 'user.make-superuser']);
});

const sentences = suite('the sentence of an entry');

sentences('says what was granted and what was taken', () => {
  const of = (granted: string[], revoked: string[]) => sentenceOf('user.change-apps', { granted, revoked });

  assert.equal(
    [of(['a'], []), of([], ['b']), of(['a'], ['b'])],
    [
      'granted {granted} to {target}',
      'took {revoked} from {target}',
      'granted {granted} to {target} and took {revoked} from {target}',
    ],
  );
});

sentences('says how a person logged in, and who joined or left a group', () => {
  assert.is(sentenceOf('login.session', { passkey: 1 }), 'logged in with a passkey');
  assert.is(sentenceOf('login.session', { connection: 1, name: 'Okta' }), 'logged in with {name}');
  assert.is(sentenceOf('login.session', {}), 'logged in with a password');
  assert.is(sentenceOf('group.update', { members: { added: [1] } }), 'added {added} to the group {target}');
  assert.is(sentenceOf('newer.action', {}), 'newer.action: {target}');
});

sentences('says what was done to people by several changes, and what was undone', () => {
  const offboarding = { change: 'offboard', people: 1 };

  assert.is(operationSentenceOf(offboarding, false), 'offboarded {target}');
  assert.is(operationSentenceOf(offboarding, true), 'undid the offboarding of {target}');
  assert.is(operationSentenceOf({ change: null, people: 1 }, false), undefined);
  assert.is(operationSentenceOf({ change: 'offboard', people: 0 }, false), undefined, 'only of a group');
});

actions.run();
sentences.run();
