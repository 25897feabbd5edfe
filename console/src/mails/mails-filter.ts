import { idOf, oneOf, textOf, timeOf } from '../components/search-params.ts';

export const MAIL_STATUSES = ['queued', 'retrying', 'sent', 'failed'] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

/** Whether the status of a mail will change without an action of the user. */
export const isWaiting = (status: MailStatus | undefined): boolean =>
  status === 'queued' || status === 'retrying';

/** The filter of the list of mails, from the address. */
export type MailsFilter = {
  search?: string | undefined;
  status?: MailStatus | undefined;
  client?: number | undefined;
  /** The time of one request, such as the request for a list of invitations. */
  created_at?: string | undefined;
  /** The saved view that was opened. */
  view?: number | undefined;
};

export const mailsFilter = ({
  search,
  status,
  client,
  created_at,
  view,
}: Record<string, unknown>): MailsFilter => ({
  search: textOf(search),
  status: oneOf(status, MAIL_STATUSES),
  client: idOf(client),
  created_at: timeOf(created_at),
  view: idOf(view),
});
