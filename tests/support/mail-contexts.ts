import type { MailContext } from '../../src/services/mail/mail-context.ts';

const NOON = new Date('2026-11-21T12:00:00.000Z');

/** The mail context of an invitation. */
export const invitationContext = (changes: Partial<MailContext> = {}): MailContext => ({
  id: 7,
  kind: 'invitation',
  recipient: 'ada@guest.test',
  client_id: 1,
  invitation_id: 3,
  user_id: null,
  created_at: NOON,
  attempts: 1,
  last_attempt_at: NOON,
  next_attempt_at: NOON,
  last_error: null,
  sent_at: null,
  failed_at: null,
  status: 'queued',
  client_name: 'Acme Analytics',
  invitation_subject: '',
  obsolete: null,
  default_from_email: '',
  invitation_body: '',
  support_email: 'help@acme.test',
  invitation_key: 'KEY',
  first_name: null,
  request_address: null,
  traceparent: null,
  link_id: null,
  link_user_id: null,
  link_created_at: null,
  link_expires_at: NOON,
  password_expires_at: null,
  app_labels: ['Sales', 'Churn'],
  ...changes,
});

/** The mail context of a password mail of the same client. */
export const passwordContext = (
  kind: 'password-setup' | 'password-reset' | 'password-changed',
  changes: Partial<MailContext> = {},
): MailContext =>
  invitationContext({
    kind,
    client_id: null,
    invitation_id: null,
    invitation_key: null,
    app_labels: [],
    user_id: 5,
    first_name: 'Ada',
    link_id: 11,
    link_user_id: 5,
    link_created_at: NOON,
    link_expires_at: new Date('2026-11-21T13:00:00.000Z'),
    ...changes,
  });
