import type { Column } from '../components/column.ts';

type Delivered = { status: string; last_error: string | null } | null | undefined;

/** Why a mail is not sent yet; empty if it was sent, or was not attempted. */
export const reasonOf = (mail: Delivered): string =>
  mail && mail.status !== 'sent' ? (mail.last_error ?? '') : '';

/** The codes of RFC 3463 and the usual texts of mail servers, with their meaning. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/\b5\.1\.2\b|domain (was )?not found|no such domain|NXDOMAIN/i, 'No such domain'],
  [
    /\b5\.1\.[01346]\b|(no such|unknown|invalid) (user|mailbox|recipient|address)|(user|mailbox|recipient|address) (unknown|not found|does not exist|unavailable)/i,
    'No such mailbox',
  ],
  [/\b[45]\.2\.2\b|over quota|quota exceeded|mailbox (is )?full/i, 'Mailbox is full'],
  [/\b[45]\.2\.1\b|(mailbox|account) (is )?(disabled|inactive)/i, 'Mailbox is disabled'],
  [/\b[45]\.3\.4\b|too (large|big)/i, 'Mail is too large'],
  [/greylist|try (again )?later|too many|rate limit|\b4\.7\.\d/i, 'Asked to try later'],
  [/\b535\b|\bauthenticat|invalid login/i, 'Mail server refused the login'],
  [/\b5\.7\.\d|spam|block(ed|list)|blacklist|\bSPF\b|\bDMARC\b|policy/i, 'Refused as unwanted'],
  [
    /ECONN|no such host|no name server|unreachable|timed? ?out|timeout|greeting never|connection/i,
    'Mail server not reached',
  ],
];

/** A reason in words, such as `No such mailbox`; the text of the server if it is unusual. */
export const wordsOf = (reason: string): string =>
  MEANINGS.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;

/** For lists in which at least one mail has a reason. The tooltip contains the server's text. */
export const reasonColumn = <Row,>(mailOf: (row: Row) => Delivered): Column<Row> => ({
  heading: 'Reason',
  width: '1fr',
  onPhone: 'plain',
  cell: (row) => {
    const reason = reasonOf(mailOf(row));
    return reason && <span title={reason}>{wordsOf(reason)}</span>;
  },
});
