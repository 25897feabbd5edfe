import { Link } from '@tanstack/react-router';
import { MailStatus } from './mail-status.tsx';
import type { MailStatus as Status } from './mails-filter.ts';

type Mail = { id: number; status: Status };

/** The status of a mail, as a link to the mail. */
export const MailLink = ({ mail }: { mail: Mail | null | undefined }) =>
  mail && (
    <Link className="text-link" to="/mails/$id" params={{ id: String(mail.id) }}>
      <MailStatus status={mail.status} />
    </Link>
  );
