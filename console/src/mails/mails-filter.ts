import { idOf, oneOf } from '../components/search-params.ts';

export const MAIL_STATUSES = ['queued', 'retrying', 'sent', 'failed'] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

/** The filter of the list of mails, as the address states it. */
export type MailsFilter = { status?: MailStatus | undefined; client?: number | undefined };

export const mailsFilter = ({ status, client }: Record<string, unknown>): MailsFilter => ({
  status: oneOf(status, MAIL_STATUSES),
  client: idOf(client),
});
