import { StatusText } from '../components/status-text.tsx';
import type { MailStatus as Status } from './mails-filter.ts';

export const STATUS_LABELS: Record<Status, string> = {
  queued: 'Queued',
  retrying: 'Retrying',
  sent: 'Sent',
  failed: 'Failed',
};

const COLORS = { queued: 'gray', retrying: 'yellow', sent: 'green', failed: 'red' } as const;

export const MailStatus = ({ status }: { status: Status }) => (
  <StatusText color={COLORS[status]} label={STATUS_LABELS[status]} />
);
