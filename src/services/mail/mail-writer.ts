import { invitationExpiry } from '../../../entities/invitation.ts';
import type { MailKind } from '../../../entities/outbox-mail.ts';
import type { Mail } from '../../adapters/mail/mailer.ts';
import type { EmailLinkKind, SignedLinks } from '../auth/signed-links.ts';
import type { LetterContext } from './mail-context.ts';
import { isMailAddress, oneLine, renderHtml, renderText } from './mail-layout.ts';
import { senderNameOf, TEMPLATES } from './mail-templates.ts';

type Deps = { links: SignedLinks; mailFrom: string };

export type MailWriter = ReturnType<typeof createMailWriter>;

/** Renders mails with the texts and the sender name of their client. */
export const createMailWriter = ({ links, mailFrom }: Deps) => {
  const linkOf = (mail: LetterContext): string | null => {
    if (mail.kind === 'invitation' || mail.kind === 'invitation-reminder')
      return mail.invitation_key && links.invitation(mail.invitation_key);
    if (mail.kind in EMAIL_LINKS) return emailLinkOf(mail);
    const { link_id: id, link_user_id: userId, link_created_at: createdAt } = mail;
    return id === null || userId === null || createdAt === null
      ? null
      : links.passwordLink({ id, userId, createdAt });
  };

  const emailLinkOf = (mail: LetterContext): string | null => {
    const { change_id: id, change_user_id: userId, change_requested_at: requestedAt } = mail;
    const kind = EMAIL_LINKS[mail.kind];
    return kind === undefined || id === null || userId === null || requestedAt === null
      ? null
      : links.emailLink(kind, { id, userId, requestedAt });
  };

  /** The lifetime of an invitation starts with its last mail, that of a password link with the request. */
  const expiryOf = (mail: LetterContext, at: Date): Date =>
    mail.kind === 'invitation' ? invitationExpiry(at, mail.invitation_days) : mail.link_expires_at;

  const senderOf = ({ default_from_email: address }: LetterContext): string =>
    address !== null && isMailAddress(address) ? address : mailFrom;

  return {
    /** The address in the mail's `From`. */
    senderOf,

    /** The mail as it would be sent at `at`. `showsLink`: whether its reader may see the link. */
    write: (mail: LetterContext, at: Date, { showsLink = true } = {}): Mail => {
      const address = senderOf(mail);
      const template = TEMPLATES[mail.kind];
      const { opening, ...content } = template.content(mail, expiryOf(mail, at));
      const letter = {
        ...content,
        subject: template.subject(mail),
        opening: [greeting(mail), ...opening],
        link: showsLink ? linkOf(mail) : null,
      };
      return {
        messageId: messageIdOf(mail, address),
        date: at,
        from: { name: senderNameOf(mail), address },
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

/** The time distinguishes equal ids of two databases: mail programs drop messages with a known id. */
const messageIdOf = ({ id, created_at: createdAt }: LetterContext, from: string): string =>
  `steward.${id}.${createdAt.getTime().toString(36)}@${from.slice(from.lastIndexOf('@') + 1)}`;

const greeting = (mail: LetterContext): string => {
  const name = oneLine(mail.first_name ?? '');
  return name === '' ? 'Hello,' : `Hello ${name},`;
};
