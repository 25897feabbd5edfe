import type { MailKind } from '../../../entities/outbox-mail.ts';
import { FAILURE_WINDOW_MINUTES, FAILURES_PER_ACCOUNT } from '../auth/login-limits.ts';
import { RESET_LINK_MINUTES } from '../passwords/password-resets.ts';
import { UNDO_DAYS } from '../users/address-change.ts';
import { CONFIRM_HOURS } from '../users/email-changes.ts';
import { REQUEST_MAIL_MINUTES } from './enqueue-mails.ts';
import type { LetterContext } from './mail-context.ts';
import { dayOf, type MailContent, momentOf, oneLine, plainText } from './mail-layout.ts';
import { digestContent, endingContent, reportContent, warningContent } from './reminder-letters.ts';

type Content = Omit<MailContent, 'subject' | 'link'>;
type SubjectInput = Pick<LetterContext, 'kind' | 'client_name' | 'invitation_subject'>;

/** For mails without a client, such as those to a superuser. */
const SERVICE_NAME = 'Steward';

export const senderNameOf = ({ client_name: name }: Pick<LetterContext, 'client_name'>): string =>
  oneLine(name ?? '') || SERVICE_NAME;

type Template = {
  subject: (mail: SubjectInput) => string;
  /** Without the greeting. @param expiresAt when the link expires */
  content: (mail: LetterContext, expiresAt: Date) => Content;
};

export const subjectOf = (mail: SubjectInput): string => TEMPLATES[mail.kind].subject(mail);

/** About a change of the account, which someone else may have made. */
const accountNotice = (title: string, opening: (mail: LetterContext) => string[]): Template => ({
  subject: (mail) => `${title} at ${senderNameOf(mail)}`,
  content: (mail) => ({ opening: opening(mail), closing: notYou(mail) }),
});

/**
 * Mails about what has happened have no link: they are what phishing imitates, and reading the mailbox must not be enough to act. Only
 * the old address of an account has one, because its owner may have no other way left.
 */
export const TEMPLATES: Record<MailKind, Template> = {
  invitation: {
    subject: (mail) =>
      oneLine(mail.invitation_subject ?? '') || `You've been invited to ${senderNameOf(mail)}`,
    content: (mail, expiresAt) => {
      const body = plainText(mail.invitation_body ?? '');
      const labels = mail.app_labels.map(oneLine).filter((label) => label !== '');
      return {
        opening: [
          `You have been invited to ${senderNameOf(mail)}.`,
          ...body.split(/\n{2,}/).filter((paragraph) => paragraph !== ''),
        ],
        list: labels.length > 0 ? { heading: 'You will have access to:', items: labels } : undefined,
        action: 'Accept the invitation',
        closing: [
          `This invitation expires on ${dayOf(expiresAt)}.`,
          ...support(mail),
          'If you did not expect this email, you can ignore it.',
        ],
      };
    },
  },
  'password-setup': {
    subject: (mail) => `Set your password for ${senderNameOf(mail)}`,
    content: (mail, expiresAt) => ({
      opening: [
        `An account was created for you at ${senderNameOf(mail)} with the email address ${mail.recipient}. Set a password to log in.`,
      ],
      action: 'Set your password',
      closing: [
        `You can use this link once. It expires on ${dayOf(expiresAt)}.`,
        ...support(mail),
        'If this email was not meant for you, you can ignore it.',
      ],
    }),
  },
  'password-renewal': {
    subject: (mail) => `Set a new password for ${senderNameOf(mail)}`,
    content: (mail, expiresAt) => ({
      opening: [
        `Until now, the identity provider of an organization could log in to the account of ${accountOf(mail)}. The account has been added to another organization, or got a role for the whole service, for which the provider must not decide who you are.`,
        'So single sign-on has ended for this account, and with it the password, passkeys, authenticator apps, recovery codes and API tokens, and it is logged out everywhere. Set a new password to log in, and add a passkey or an app again.',
      ],
      action: 'Set a new password',
      closing: [
        `You can use this link once. It expires on ${dayOf(expiresAt)}. After that, choose “Forgot your password?” on the login page.`,
        ...support(mail),
        'If you do not expect this, ask your administrator.',
      ],
    }),
  },
  'password-reset': {
    subject: (mail) => `Reset your password for ${senderNameOf(mail)}`,
    content: (mail, expiresAt) => ({
      opening: [`We received a request to reset the password of ${accountOf(mail)}.`],
      action: 'Choose a new password',
      closing: [
        `You can use this link once, within ${RESET_LINK_MINUTES} minutes. It expires on ${momentOf(expiresAt)}.`,
        ...support(mail),
        'If you did not request this, ignore this email. Your password will not change.',
      ],
    }),
  },
  'password-expiry': {
    subject: (mail) => `Your password for ${senderNameOf(mail)} will expire`,
    content: (mail) => ({
      opening: [
        `${senderNameOf(mail)} requires passwords to be changed more often than before. The password of ${mail.recipient} is valid until ${momentOf(mail.password_expires_at ?? mail.created_at)}.`,
        'Change it before then: log in, and open your account. After that time, the login page asks for a new password.',
      ],
      closing: support(mail),
    }),
  },
  'second-factor-required': {
    subject: (mail) => `${senderNameOf(mail)} requires a second factor`,
    content: (mail) => ({
      opening: [
        `From ${momentOf(mail.factor_due_at ?? mail.created_at)} on, ${senderNameOf(mail)} requires ${factorOf(mail)} of ${mail.recipient} to log in.`,
        `Set it up before then: log in, open your account, and ${howToAdd(mail)}. It takes two minutes.`,
        'If you do not, the login page asks you to set it up at your next login. You lose no access.',
      ],
      closing: support(mail),
    }),
  },
  'second-factor-reminder': {
    subject: (mail) => `Set up your second factor for ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `You have not set up ${factorOf(mail)} yet. ${senderNameOf(mail)} requires one of ${mail.recipient} from ${momentOf(mail.factor_due_at ?? mail.created_at)} on.`,
        `Log in, open your account, and ${howToAdd(mail)}. After that time, the login page asks you to set it up first.`,
      ],
      closing: support(mail),
    }),
  },
  'password-changed': {
    subject: (mail) => `Your password for ${senderNameOf(mail)} was changed`,
    content: (mail) => ({
      opening: [`The password of ${accountOf(mail)} was changed ${whenAndWhence(mail)}.`],
      closing: [
        'If this was you, you do not need to do anything.',
        'If this was not you, someone else has access to your account. Set a new password now: choose “Forgot your password?” on the login page. Also change the password of your mailbox and inform your administrator.',
        ...support(mail),
      ],
    }),
  },
  'failed-logins': {
    subject: (mail) => `Failed logins to your account at ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `Someone entered a wrong password for ${accountOf(mail)} ${FAILURES_PER_ACCOUNT} times within ${FAILURE_WINDOW_MINUTES} minutes. The last attempt was on ${momentOf(mail.created_at)}${requestFrom(mail, ', from')}. Nobody got in by these attempts.`,
        `To protect the account, logins from browsers that you have not used before, and from scripts, are refused for ${FAILURE_WINDOW_MINUTES} minutes. Browsers in which you have logged in before are not affected, and you stay logged in where you are.`,
      ],
      closing: [
        'If this was you, wait a few minutes, or choose “Forgot your password?” on the login page.',
        'If this was not you, you do not need to do anything as long as your password is strong and you use it nowhere else. Otherwise change it.',
        'If it goes on, you get at most one such email a day.',
        ...support(mail),
      ],
    }),
  },
  'failed-codes': {
    subject: (mail) => `Wrong codes for your account at ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `Someone who knows the password of ${accountOf(mail)} entered a wrong code or passkey ${FAILURES_PER_ACCOUNT} times within ${FAILURE_WINDOW_MINUTES} minutes. The last attempt was on ${momentOf(mail.created_at)}${requestFrom(mail, ', from')}. Nobody got in by these attempts.`,
      ],
      closing: [
        `If this was you, wait ${FAILURE_WINDOW_MINUTES} minutes, or log in with a browser that you have used before. Check that the clock of your phone is right.`,
        'If this was not you, set a new password now: choose “Forgot your password?” on the login page.',
        'If it goes on, you get at most one such email a day.',
        ...support(mail),
      ],
    }),
  },
  'second-factor-added': accountNotice('A second factor was added to your account', (mail) => [
    `An authenticator app was added to ${accountOf(mail)} ${whenAndWhence(mail)}. From now on, a login asks for its code after the password.`,
    'Keep your recovery codes in a safe place: they are the way in if you lose the app.',
  ]),
  'second-factor-removed': accountNotice('A second factor was removed from your account', (mail) => [
    `An authenticator app was removed from ${accountOf(mail)} ${whenAndWhence(mail)}.`,
  ]),
  'passkey-added': accountNotice('A passkey was added to your account', (mail) => [
    `A passkey was added to ${accountOf(mail)} ${whenAndWhence(mail)}. It logs in alone, and from now on, a login with the password asks for it or another second factor.`,
    'Keep your recovery codes in a safe place: they are the way in if you lose the device with the passkey.',
  ]),
  'passkey-removed': accountNotice('A passkey was removed from your account', (mail) => [
    `A passkey was removed from ${accountOf(mail)} ${whenAndWhence(mail)}. It cannot log in any more; you can also delete it on the device.`,
  ]),
  'second-factor-reset': {
    subject: (mail) => `Your second factor for ${senderNameOf(mail)} was reset`,
    content: (mail) => ({
      opening: [
        `An administrator removed all second factors and recovery codes of ${accountOf(mail)} on ${momentOf(mail.created_at)}. You were logged out everywhere. You log in with your password alone, until you set up a second factor again.`,
      ],
      closing: [
        'If you did not ask for this, inform your administrator, and set a new password: choose “Forgot your password?” on the login page.',
        ...support(mail),
      ],
    }),
  },
  'recovery-code-used': accountNotice('A recovery code was used', (mail) => [
    `A recovery code of ${accountOf(mail)} was used ${whenAndWhence(mail)}. It cannot be used again.`,
    'If you have lost your authenticator app or passkey, remove it in your account and set up another one. New recovery codes replace all old ones.',
  ]),
  'identity-linked': {
    subject: (mail) => `Single sign-on was connected to your account at ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `On ${momentOf(mail.created_at)}, the account of ${accountOf(mail)} was connected to the identity provider of your organization, which can log in to it from now on.`,
      ],
      closing: [
        'If this was you, you do not need to do anything.',
        'If this was not you, inform your administrator, who can end the connection.',
        ...support(mail),
      ],
    }),
  },
  'webhook-disabled': {
    subject: (mail) => `A webhook was disabled at ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `The webhook to ${oneLine(mail.webhook?.name ?? '')} was disabled on ${momentOf(mail.created_at)}: ${
          mail.webhook?.reason === 'gone'
            ? 'its receiver answered that it is gone for good (410).'
            : 'all its deliveries have failed for five days.'
        }`,
        'It hears nothing any more. When its receiver works again, activate it, and replay the events that it has missed.',
      ],
      closing: support(mail),
    }),
  },
  'email-confirmation': {
    subject: (mail) => `Confirm your new email address for ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [
        `${mail.recipient} is to become the address of your account at ${senderNameOf(mail)}. Confirm it to log in with it from now on.`,
      ],
      action: 'Confirm the address',
      closing: [
        `You can use this link once, within ${CONFIRM_HOURS} hours. Until then, nothing changes.`,
        ...support(mail),
        'If you do not expect this, ignore this email.',
      ],
    }),
  },
  'email-changed': {
    subject: (mail) => `Your email address for ${senderNameOf(mail)} was changed`,
    content: (mail) => (mail.is_requested ? changedByRequest(mail) : changedByAdmin(mail)),
  },
  'access-requested': {
    subject: (mail) => `Access requested at ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: requestOf(mail),
      closing: [
        'To approve or deny it, log in to the console.',
        `If others ask for this app within ${REQUEST_MAIL_MINUTES} minutes, you get no further email. The console lists all requests.`,
      ],
    }),
  },
  'access-decided': {
    subject: (mail) => `Your request for access at ${senderNameOf(mail)}`,
    content: (mail) => ({ opening: decisionOf(mail), closing: support(mail) }),
  },
  'access-ending': {
    subject: (mail) => `Your access at ${senderNameOf(mail)} ends soon`,
    content: (mail) => ({ ...endingContent(mail.reminder), closing: support(mail) }),
  },
  'access-ending-report': {
    subject: (mail) => `Access that ends soon at ${senderNameOf(mail)}`,
    content: (mail) => ({ ...reportContent(mail.reminder), closing: support(mail) }),
  },
  'invitation-reminder': {
    subject: (mail) => `Reminder: your invitation to ${senderNameOf(mail)}`,
    content: (mail) => ({
      opening: [`You have been invited to ${senderNameOf(mail)}, and have not accepted the invitation yet.`],
      action: 'Accept the invitation',
      closing: [
        ...(mail.reminder?.expires_at
          ? [`This invitation expires on ${dayOf(new Date(mail.reminder.expires_at))}.`]
          : []),
        ...support(mail),
        'If you did not expect this email, you can ignore it. You get no further reminder.',
      ],
    }),
  },
  'inactivity-warning': {
    subject: (mail) => `You have not used ${senderNameOf(mail)} for a long time`,
    content: (mail) => ({
      ...warningContent(mail.reminder, accountOf(mail)),
      closing: support(mail),
    }),
  },
  'weekly-digest': {
    subject: (mail) => `Your week at ${senderNameOf(mail)}`,
    content: (mail) => ({ ...digestContent(mail.reminder), closing: support(mail) }),
  },
};

const accountOf = (mail: LetterContext): string => `${mail.recipient} at ${senderNameOf(mail)}`;

/** When it was done, and by a request from where, if that is known. */
const whenAndWhence = (mail: LetterContext): string =>
  `on ${momentOf(mail.created_at)}${requestFrom(mail, ' by a request from')}`;

const notYou = (mail: LetterContext): string[] => [
  'If this was you, you do not need to do anything.',
  'If this was not you, someone else has access to your account. Set a new password now, which logs the account out everywhere: choose “Forgot your password?” on the login page. Also inform your administrator.',
  ...support(mail),
];

const changeOf = (mail: LetterContext): string =>
  `Your account at ${senderNameOf(mail)} does not use ${mail.recipient} any more. The address was changed on ${momentOf(mail.created_at)}`;

const changedByRequest = (mail: LetterContext): Content => ({
  opening: [
    `${changeOf(mail)}${requestFrom(mail, ' by a request from')}.`,
    'If this was you, you do not need to do anything.',
    `If this was not you, someone else may have access to your account. Undo the change within ${UNDO_DAYS} days: it also logs the account out everywhere.`,
  ],
  action: 'Undo the change',
  closing: ['Then set a new password: choose “Forgot your password?” on the login page.', ...support(mail)],
});

const changedByAdmin = (mail: LetterContext): Content => ({
  opening: [`${changeOf(mail)} by an administrator.`, 'If you do not expect this, ask your administrator.'],
  closing: support(mail),
});

/** Nothing is said of people who have left the client or were erased. */
const NO_REQUEST = ['This request does not exist any more.'];

const requestOf = ({ access_request: request }: LetterContext): string[] => {
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

const decisionOf = ({ access_request: request }: LetterContext): string[] => {
  if (!request) return NO_REQUEST;
  const [app, word] = [oneLine(request.app), plainText(request.decision_reason)];
  const end = request.expires_at === null ? '' : `, until ${momentOf(new Date(request.expires_at))}`;
  const decision = request.is_approved
    ? `Your request was approved. You can open ${app} now${end}.`
    : `Your request for access to ${app} was denied.`;
  return [decision, ...(word ? [`Your administrator wrote: ${word}`] : [])];
};

/** Where the request came from, after these words; empty if it is not known. */
const requestFrom = ({ request_address }: LetterContext, words: string): string => {
  const address = oneLine(request_address ?? '');
  return address && `${words} ${address}`;
};

const factorOf = ({ needs_passkey }: LetterContext): string =>
  needs_passkey ? 'a passkey' : 'a second factor';

const howToAdd = ({ needs_passkey }: LetterContext): string =>
  needs_passkey ? 'add a passkey' : 'add a passkey or an authenticator app';

const support = ({ support_email: address }: LetterContext): string[] =>
  address ? [`Questions? Contact ${oneLine(address)}.`] : [];
