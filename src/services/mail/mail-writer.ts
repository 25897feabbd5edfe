import type { MailKind } from '../../../entities/outbox-mail.ts';
import type { Mail } from '../../adapters/mail/mailer.ts';
import { readMailbox } from '../../lib/email-address.ts';
import type { EmailLinkKind, SignedLinks } from '../auth/signed-links.ts';
import type { LetterContext } from './mail-context.ts';
import { oneLine, renderHtml, renderText } from './mail-layout.ts';
import { contentOf, senderNameOf, subjectOf } from './mail-templates.ts';
import type { MailVariables } from './mail-variables.ts';

type Deps = { links: SignedLinks; mailFrom: string };

export type MailWriter = ReturnType<typeof createMailWriter>;

/** Renders mails with the texts and the sender name of their client. */
export const createMailWriter = ({ links, mailFrom }: Deps) => {
  const linkOf = ({ kind, invitation_key, change, link }: LetterContext): string | null => {
    if (kind === 'invitation' || kind === 'invitation-reminder')
      return invitation_key && links.invitation(invitation_key);
    const emailLink = EMAIL_LINKS[kind];
    if (emailLink) {
      if (!change) return null;
      const { id, user_id: userId } = change;
      return links.emailLink(emailLink, { id, userId, requestedAt: new Date(change.requested_at) });
    }
    if (!link) return null;
    return links.passwordLink({ id: link.id, userId: link.user_id, createdAt: new Date(link.created_at) });
  };

  const senderOf = ({ variables: { default_from_email: sender } }: LetterContext): string =>
    sender !== null && readMailbox(sender) ? sender : mailFrom;

  return {
    /** The sender of the mail, with or without a name. */
    senderOf,

    /** `showsLink`: whether its reader may see the link. */
    write: (mail: LetterContext, { showsLink = true } = {}): Mail => {
      const sender = senderOf(mail);
      const { name, address } = readMailbox(sender) ?? { name: '', address: sender };
      const { opening, ...content } = contentOf(mail);
      const letter = {
        ...content,
        subject: subjectOf({ ...mail.variables, kind: mail.kind }),
        opening: [greeting(mail.variables), ...opening],
        link: showsLink ? linkOf(mail) : null,
      };
      return {
        messageId: messageIdOf(mail, address),
        date: mail.written_at,
        from: { name: oneLine(name) || senderNameOf(mail.variables), address },
        to: mail.recipient,
        subject: letter.subject,
        text: renderText(letter),
        html: renderHtml(letter),
        headers: AUTOMATIC,
      };
    },
  };
};

const EMAIL_LINKS: Partial<Record<MailKind, EmailLinkKind>> = {
  'email-confirmation': 'confirm',
  'email-changed': 'undo',
};

/** RFC 3834 §5, and its equivalent in Exchange: prevents automatic replies. */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' };

/** The time distinguishes equal ids of two databases: mail programs drop messages with an id that they know. */
const messageIdOf = ({ id, created_at: createdAt }: LetterContext, from: string): string =>
  `steward.${id}.${createdAt.getTime().toString(36)}@${from.slice(from.lastIndexOf('@') + 1)}`;

const greeting = ({ first_name }: MailVariables): string => {
  const name = oneLine(first_name ?? '');
  return name === '' ? 'Hello,' : `Hello ${name},`;
};
