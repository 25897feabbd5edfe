import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mailMessage } from '../../console/src/mails/mail-message.ts';
import { KINDS } from '../../console/src/session/roles.ts';

const messages = suite('the message after a mail was queued');

const rolesOf = (kind: string) => {
  const roles = KINDS.get(kind);
  if (!roles) throw new Error(`There are no ${kind}.`);
  return roles;
};

const SENT = 'The mail is on its way.';

messages('promises a mail only if the service has a mail server', () => {
  const roles = rolesOf('superusers');

  assert.is(mailMessage(SENT, { sends_mail: true, roles }), SENT);
  assert.match(mailMessage(SENT, { sends_mail: false, roles }), /^No mail server is set up/);
});

messages('says who can copy the link, and where', () => {
  const withoutServer = (kind: string, invitedTo?: number): string =>
    mailMessage(SENT, { sends_mail: false, roles: rolesOf(kind) }, invitedTo);

  assert.match(withoutServer('superusers'), 'You can copy its link under Mails.');
  assert.match(withoutServer('client admins'), 'A superuser can copy its link under Mails.');
  assert.match(withoutServer('client admins', 1), '“Show the link” in the actions of the invitation');
  assert.match(withoutServer('help desks', 1), 'A superuser can copy its link under Mails.');
});

messages.run();
