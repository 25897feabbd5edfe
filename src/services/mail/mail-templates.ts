import type { MailKind } from '../../../entities/outbox-mail.ts';
import { personWith } from '../access/permissions.ts';
import { GUESS_WINDOW_MINUTES, MAX_GUESSES } from '../auth/login-limits.ts';
import { REQUEST_MAIL_MINUTES } from '../outbox/enqueue-mails.ts';
import { RESET_LINK_MINUTES } from '../passwords/password-resets.ts';
import { UNDO_DAYS } from '../users/address-change.ts';
import { CONFIRM_HOURS } from '../users/email-changes.ts';
import type { LetterContext } from './mail-context.ts';
import { type MailContent, momentOf, oneLine, plainText } from './mail-layout.ts';
import type { MailVariables } from './mail-variables.ts';
import {
  digestContent,
  endingContent,
  reportContent,
  tokenContent,
  warningContent,
} from './reminder-letters.ts';

type SubjectInput = Pick<LetterContext, 'kind'> & Pick<MailVariables, 'client_name' | 'invitation_subject'>;

/** For mails without a client, such as mails to a superuser. */
const SERVICE_NAME = 'Steward';

export const senderNameOf = ({ client_name: name }: Pick<MailVariables, 'client_name'>): string =>
  oneLine(name ?? '') || SERVICE_NAME;

/** An invitation has the subject of its client, if any. */
export const subjectOf = (mail: SubjectInput): string =>
  (mail.kind === 'invitation' && oneLine(mail.invitation_subject ?? '')) ||
  SUBJECTS[mail.kind](senderNameOf(mail));

const SUBJECTS: Record<MailKind, (sender: string) => string> = {
  invitation: (sender) => `You've been invited to ${sender}`,
  'password-setup': (sender) => `Set your password for ${sender}`,
  'password-renewal': (sender) => `Set a new password for ${sender}`,
  'password-reset': (sender) => `Reset your password for ${sender}`,
  'password-expiry': (sender) => `Your password for ${sender} will expire`,
  'second-factor-required': (sender) => `${sender} requires a second factor`,
  'second-factor-reminder': (sender) => `Set up your second factor for ${sender}`,
  'password-changed': (sender) => `Your password for ${sender} was changed`,
  'failed-logins': (sender) => `Failed logins to your account at ${sender}`,
  'failed-codes': (sender) => `Wrong codes for your account at ${sender}`,
  'second-factor-added': (sender) => `A second factor was added to your account at ${sender}`,
  'second-factor-removed': (sender) => `A second factor was removed from your account at ${sender}`,
  'passkey-added': (sender) => `A passkey was added to your account at ${sender}`,
  'passkey-removed': (sender) => `A passkey was removed from your account at ${sender}`,
  'second-factor-reset': (sender) => `Your second factor for ${sender} was reset`,
  'recovery-code-used': (sender) => `A recovery code was used at ${sender}`,
  'identity-linked': (sender) => `Single sign-on was connected to your account at ${sender}`,
  'webhook-disabled': (sender) => `A webhook was disabled at ${sender}`,
  'email-confirmation': (sender) => `Confirm your new email address for ${sender}`,
  'email-changed': (sender) => `Your email address for ${sender} was changed`,
  'access-requested': (sender) => `Access requested at ${sender}`,
  'access-decided': (sender) => `Your request for access at ${sender}`,
  'access-ending': (sender) => `Your access at ${sender} ends soon`,
  'access-ending-report': (sender) => `Access that ends soon at ${sender}`,
  'invitation-reminder': (sender) => `Reminder: your invitation to ${sender}`,
  'inactivity-warning': (sender) => `You have not used ${sender} for a long time`,
  'weekly-digest': (sender) => `Your week at ${sender}`,
  'token-ending': (sender) => `An API token at ${sender} ends soon`,
  'viewed-as': (sender) => `Someone looked at an app as you at ${sender}`,
  'directory-held': (sender) => `Your directory waits for an approval at ${sender}`,
};

/** `account`: the recipient's account at the sender. */
type Facts = LetterContext & MailVariables & { sender: string; account: string };

/** `closing` and `note` are placed before and after the address for questions. */
type Content = Pick<MailContent, 'opening' | 'list' | 'action'> & { closing?: string[]; note?: string };

/** The content of a mail after the greeting. */
export const contentOf = (mail: LetterContext): Omit<MailContent, 'subject' | 'link'> => {
  const sender = senderNameOf(mail.variables);
  const facts = { ...mail, ...mail.variables, sender, account: `${mail.recipient} at ${sender}` };
  const { closing = [], note, ...content } = CONTENTS[mail.kind](facts);
  const address = mail.kind === 'access-requested' ? null : facts.support_email;
  const support = address ? [`Questions? Contact ${oneLine(address)}.`] : [];
  return { ...content, closing: [...closing, ...support, ...(note ? [note] : [])] };
};

/**
 * Mails about past events have no link: phishing imitates them, and reading the mailbox must not be enough to act. Only the mail to the old
 * address of an account has one, because the owner may have no other way left.
 */
const CONTENTS: Record<MailKind, (mail: Facts) => Content> = {
  invitation: (mail) => {
    const body = plainText(mail.invitation_body ?? '');
    const labels = (mail.app_labels ?? []).map(oneLine).filter((label) => label !== '');
    return {
      opening: [
        `You have been invited to ${mail.sender}${asPersonWith(mail.invited_roles ?? [])}.`,
        ...body.split(/\n{2,}/).filter((paragraph) => paragraph !== ''),
      ],
      list: labels.length > 0 ? { heading: 'You will have access to:', items: labels } : undefined,
      action: 'Accept the invitation',
      closing: [expiryOf(mail.link_expires_at)],
      note: 'If you did not expect this email, you can ignore it.',
    };
  },
  'password-setup': (mail) => ({
    opening: [
      `An account was created for you at ${mail.sender} with the email address ${mail.recipient}. Set a password to log in.`,
    ],
    action: 'Set your password',
    closing: [`You can use this link once. It expires on ${momentOf(mail.link_expires_at)}.`],
    note: 'If this email was not meant for you, you can ignore it.',
  }),
  'password-renewal': (mail) => ({
    opening: [
      `Until now, the identity provider of an organization could log in to the account of ${mail.account}. The account has been added to another organization, or got a role for the whole service, for which the provider must not decide who you are.`,
      'So single sign-on has ended for this account, and with it the password, passkeys, authenticator apps, recovery codes and API tokens, and it is logged out everywhere. Set a new password to log in, and add a passkey or an app again.',
    ],
    action: 'Set a new password',
    closing: [
      `You can use this link once. It expires on ${momentOf(mail.link_expires_at)}. After that, choose “Forgot your password?” on the login page.`,
    ],
    note: 'If you do not expect this, ask your administrator.',
  }),
  'password-reset': (mail) => ({
    opening: [`We received a request to reset the password of ${mail.account}.`],
    action: 'Choose a new password',
    closing: [
      `You can use this link once, within ${RESET_LINK_MINUTES} minutes. It expires on ${momentOf(mail.link_expires_at)}.`,
    ],
    note: 'If you did not request this, ignore this email. Your password will not change.',
  }),
  'password-expiry': (mail) => ({
    opening: [
      `${mail.sender} requires passwords to be changed more often than before. The password of ${mail.recipient} is valid until ${momentOf(mail.password_expires_at ?? mail.created_at)}.`,
      'Change it before then: log in, and open your account. After that time, the login page asks for a new password.',
    ],
  }),
  'second-factor-required': (mail) => ({
    opening: [
      `From ${momentOf(mail.factor_due_at ?? mail.created_at)} on, ${mail.sender} requires ${factorOf(mail)} of ${mail.recipient} to log in.`,
      `Set it up before then: log in, open your account, and ${howToAdd(mail)}. It takes two minutes.`,
      'If you do not, the login page asks you to set it up at your next login. You lose no access.',
    ],
  }),
  'second-factor-reminder': (mail) => ({
    opening: [
      `You have not set up ${factorOf(mail)} yet. ${mail.sender} requires one of ${mail.recipient} from ${momentOf(mail.factor_due_at ?? mail.created_at)} on.`,
      `Log in, open your account, and ${howToAdd(mail)}. After that time, the login page asks you to set it up first.`,
    ],
  }),
  'password-changed': (mail) => ({
    opening: [`The password of ${mail.account} was changed ${whenAndWhere(mail)}.`],
    closing: [
      IF_YOU,
      'If this was not you, someone else has access to your account. Set a new password now: choose “Forgot your password?” on the login page. Also change the password of your mailbox and inform your administrator.',
    ],
  }),
  'failed-logins': (mail) => ({
    opening: [
      `Someone entered a wrong password for ${mail.account} ${MAX_GUESSES} times within ${GUESS_WINDOW_MINUTES} minutes. The last attempt was on ${momentOf(mail.created_at)}${requestFrom(mail, ', from')}. Nobody got in by these attempts.`,
      `To protect the account, further attempts from the same network are refused for ${GUESS_WINDOW_MINUTES} minutes. You stay logged in where you are.`,
    ],
    closing: [
      'If this was you, wait a few minutes, or choose “Forgot your password?” on the login page.',
      'If this was not you, you do not need to do anything as long as your password is strong and you use it nowhere else. Otherwise change it.',
      'If it goes on, you get at most one such email a day.',
    ],
  }),
  'failed-codes': (mail) => ({
    opening: [
      `Someone who knows the password of ${mail.account}, or is logged in to it, entered a wrong code ${MAX_GUESSES} times within ${GUESS_WINDOW_MINUTES} minutes. The last attempt was on ${momentOf(mail.created_at)}${requestFrom(mail, ', from')}. Nobody got in by these attempts.`,
    ],
    closing: [
      `If this was you, wait ${GUESS_WINDOW_MINUTES} minutes. Check that the clock of your phone is right.`,
      'If this was not you, set a new password now: choose “Forgot your password?” on the login page.',
      'If it goes on, you get at most one such email a day.',
    ],
  }),
  'second-factor-added': (mail) => ({
    opening: [
      `An authenticator app was added to ${mail.account} ${whenAndWhere(mail)}. From now on, a login asks for its code after the password.`,
      'Keep your recovery codes in a safe place: they are the way in if you lose the app.',
    ],
    closing: NOT_YOU,
  }),
  'second-factor-removed': (mail) => ({
    opening: [`An authenticator app was removed from ${mail.account} ${whenAndWhere(mail)}.`],
    closing: NOT_YOU,
  }),
  'passkey-added': (mail) => ({
    opening: [
      `A passkey was added to ${mail.account} ${whenAndWhere(mail)}. It logs in alone, and from now on, a login with the password asks for it or another second factor.`,
      'Keep your recovery codes in a safe place: they are the way in if you lose the device with the passkey.',
    ],
    closing: NOT_YOU,
  }),
  'passkey-removed': (mail) => ({
    opening: [
      `A passkey was removed from ${mail.account} ${whenAndWhere(mail)}. You can no longer log in with it; you can also delete it on the device.`,
    ],
    closing: NOT_YOU,
  }),
  'second-factor-reset': (mail) => ({
    opening: [
      `An administrator removed all second factors and recovery codes of ${mail.account} on ${momentOf(mail.created_at)}. You were logged out everywhere. You log in with your password alone, until you set up a second factor again.`,
    ],
    closing: [
      'If you did not ask for this, inform your administrator, and set a new password: choose “Forgot your password?” on the login page.',
    ],
  }),
  'recovery-code-used': (mail) => ({
    opening: [
      `A recovery code of ${mail.account} was used ${whenAndWhere(mail)}. It cannot be used again.`,
      'If you have lost your authenticator app or passkey, remove it in your account and set up another one. New recovery codes replace all old ones.',
    ],
    closing: NOT_YOU,
  }),
  'identity-linked': (mail) => ({
    opening: [
      `On ${momentOf(mail.created_at)}, the account of ${mail.account} was connected to the identity provider of your organization, which can log in to it from now on.`,
    ],
    closing: [IF_YOU, 'If this was not you, inform your administrator, who can end the connection.'],
  }),
  'webhook-disabled': (mail) => ({
    opening: [
      `The webhook to ${oneLine(mail.webhook?.name ?? '')} was disabled on ${momentOf(mail.created_at)}: ${
        mail.webhook?.reason === 'gone'
          ? 'its receiver answered that it is gone for good (410).'
          : 'all its deliveries have failed for five days.'
      }`,
      'It gets no more events. When its receiver works again, activate it, and replay the events that it has missed.',
    ],
  }),
  'email-confirmation': (mail) => ({
    opening: [
      `${mail.recipient} is to become the address of your account at ${mail.sender}. Confirm it to log in with it from now on.`,
    ],
    action: 'Confirm the address',
    closing: [`You can use this link once, within ${CONFIRM_HOURS} hours. Until then, nothing changes.`],
    note: 'If you do not expect this, ignore this email.',
  }),
  'email-changed': (mail) => (mail.is_requested ? changedByRequest(mail) : changedByAdmin(mail)),
  'access-requested': (mail) => ({
    opening: requestOf(mail),
    closing: [
      'To approve or deny it, log in to the console.',
      `If others ask for this app within ${REQUEST_MAIL_MINUTES} minutes, you get no further email. The console lists all requests.`,
    ],
  }),
  'access-decided': (mail) => ({ opening: decisionOf(mail) }),
  'access-ending': (mail) => endingContent(mail.reminder),
  'access-ending-report': (mail) => reportContent(mail.reminder),
  'invitation-reminder': (mail) => ({
    opening: [`You have been invited to ${mail.sender}, and have not accepted the invitation yet.`],
    action: 'Accept the invitation',
    closing: [...(mail.reminder?.expires_at ? [expiryOf(mail.reminder.expires_at)] : [])],
    note: 'If you did not expect this email, you can ignore it. You get no further reminder.',
  }),
  'inactivity-warning': (mail) => warningContent(mail.reminder, mail.account),
  'weekly-digest': (mail) => digestContent(mail.reminder),
  'token-ending': (mail) => tokenContent(mail.reminder),
  'viewed-as': (mail) => ({ opening: lookOf(mail) }),
  'directory-held': (mail) => ({
    opening: [
      `Your directory wants to end the memberships of many people, or of the last admin, at ${mail.sender}. Steward has held this on ${momentOf(mail.created_at)}, because it may be a mistake.`,
      'See who they are in the tab Directory of your client, and approve it, or correct the directory. Until then, these people stay members.',
    ],
  }),
};

const IF_YOU = 'If this was you, you do not need to do anything.';

const NOT_YOU = [
  IF_YOU,
  'If this was not you, someone else has access to your account. Set a new password now, which logs the account out everywhere: choose “Forgot your password?” on the login page. Also inform your administrator.',
];

const asPersonWith = (roles: readonly string[]): string =>
  roles.length > 0 ? ` as ${personWith(roles)}` : '';

const expiryOf = (at: string): string => `This invitation expires on ${momentOf(at)}.`;

/** When the change was made, and where the request came from, if known. */
const whenAndWhere = (mail: Facts): string =>
  `on ${momentOf(mail.created_at)}${requestFrom(mail, ' by a request from')}`;

const changeOf = ({ sender, recipient }: Facts): string =>
  `Your account at ${sender} no longer uses ${recipient}. The address was changed`;

const changedByRequest = (mail: Facts): Content => ({
  opening: [
    `${changeOf(mail)} ${whenAndWhere(mail)}.`,
    IF_YOU,
    `If this was not you, someone else may have access to your account. Undo the change within ${UNDO_DAYS} days: it also logs the account out everywhere.`,
  ],
  action: 'Undo the change',
  closing: ['Then set a new password: choose “Forgot your password?” on the login page.'],
});

const changedByAdmin = (mail: Facts): Content => ({
  opening: [
    `${changeOf(mail)} on ${momentOf(mail.created_at)} by an administrator.`,
    'If you do not expect this, ask your administrator.',
  ],
});

/** Nothing is revealed about people who have left the client or were erased. */
const NO_REQUEST = ['This request no longer exists.'];

const requestOf = ({ access_request: request }: Facts): string[] => {
  if (!request) return NO_REQUEST;
  const { app, email, days } = request;
  const [name, reason] = [oneLine(request.name), plainText(request.reason)];
  const person = name === '' ? email : `${name} (${email})`;
  const duration = days === null ? '' : ` for ${days} ${days === 1 ? 'day' : 'days'}`;
  return [
    `${person} asks for access to ${oneLine(app)}${duration}.`,
    ...(reason ? [`Reason: ${reason}`] : []),
  ];
};

const decisionOf = ({ access_request: request }: Facts): string[] => {
  if (!request) return NO_REQUEST;
  const [app, word] = [oneLine(request.app), plainText(request.decision_reason)];
  const end = request.expires_at === null ? '' : `, until ${momentOf(request.expires_at)}`;
  const decision = request.is_approved
    ? `Your request was approved. You can open ${app} now${end}.`
    : `Your request for access to ${app} was denied.`;
  return [decision, ...(word ? [`Your administrator wrote: ${word}`] : [])];
};

const lookOf = ({ look, ...mail }: Facts): string[] =>
  look
    ? [
        `${look.actor} looked at ${oneLine(look.app)} as ${mail.account} from ${momentOf(mail.created_at)}, until ${momentOf(look.ends_at)} at the latest. They saw what you see, and could change nothing.`,
        `Reason: ${plainText(look.reason)}`,
        'Your account lists who looked. If you do not expect this, ask your administrator.',
      ]
    : ['This is no longer recorded.'];

/** The origin of the request, after these words; empty if it is not known. */
const requestFrom = ({ request_address }: Facts, words: string): string => {
  const address = oneLine(request_address ?? '');
  return address && `${words} ${address}`;
};

const factorOf = ({ needs_passkey }: Facts): string => (needs_passkey ? 'a passkey' : 'a second factor');

const howToAdd = ({ needs_passkey }: Facts): string =>
  needs_passkey ? 'add a passkey' : 'add a passkey or an authenticator app';
