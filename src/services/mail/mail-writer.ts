import type { Mail } from '../../adapters/smtp/smtp-mailer.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { SignedLinks } from '../auth/signed-links.ts';
import type { LetterContext } from './mail-context.ts';
import { isMailAddress, renderHtml, renderText } from './mail-layout.ts';
import { contentOf, senderNameOf, subjectOf } from './mail-templates.ts';

type Deps = { links: SignedLinks; mailFrom: string; invitationDays: number };

export type MailWriter = ReturnType<typeof createMailWriter>;

/** Renders mails with the texts and the sender name of their client. */
export const createMailWriter = ({ links, mailFrom, invitationDays }: Deps) => {
  const linkOf = (mail: LetterContext): string | null => {
    if (mail.kind === 'invitation') return mail.invitation_key && links.invitation(mail.invitation_key);
    const { link_id: id, link_user_id: userId, link_created_at: createdAt } = mail;
    return id === null || userId === null || createdAt === null
      ? null
      : links.passwordLink({ id, userId, createdAt });
  };

  /** The lifetime of an invitation starts with its last mail, that of a password link with the request. */
  const expiryOf = (mail: LetterContext, at: Date): Date =>
    mail.kind === 'invitation' ? new Date(at.getTime() + invitationDays * DAY_MS) : mail.link_expires_at;

  const senderOf = ({ default_from_email: address }: LetterContext): string =>
    address !== null && isMailAddress(address) ? address : mailFrom;

  return {
    /** The mail as it would be sent at `at`. `showsLink`: whether its reader may see the link. */
    write: (mail: LetterContext, at: Date, { showsLink = true } = {}): Mail => {
      const address = senderOf(mail);
      const letter = {
        subject: subjectOf(mail),
        link: showsLink ? linkOf(mail) : null,
        ...contentOf(mail, expiryOf(mail, at)),
      };
      return {
        messageId: messageIdOf(mail, address),
        date: at,
        from: { name: senderNameOf(mail), address },
        to: mail.recipient,
        subject: letter.subject,
        text: renderText(letter),
        html: renderHtml(letter),
      };
    },
  };
};

/** The time distinguishes equal ids of two databases: mail programs drop messages with a known id. */
const messageIdOf = ({ id, created_at: createdAt }: LetterContext, from: string): string =>
  `steward.${id}.${createdAt.getTime().toString(36)}@${from.slice(from.lastIndexOf('@') + 1)}`;
