import type { Column } from '../components/virtual-table.tsx';

type Delivered = { status: string; last_error: string | null } | null | undefined;

/** Why a mail was not sent yet; empty if it was, or was not tried. */
export const reasonOf = (mail: Delivered): string =>
  mail && mail.status !== 'sent' ? (mail.last_error ?? '') : '';

/** For lists in which at least one mail has a reason. */
export const reasonColumn = <Row,>(mailOf: (row: Row) => Delivered): Column<Row> => ({
  heading: 'Reason',
  width: '1fr',
  cell: (row) => <span title={reasonOf(mailOf(row))}>{reasonOf(mailOf(row))}</span>,
});
