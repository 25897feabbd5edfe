import { StatusText } from '../components/status-text.tsx';

export const STATUS_LABELS = {
  pending: 'Pending',
  accepted: 'Accepted',
  expired: 'Expired',
  revoked: 'Revoked',
  all: 'All',
} as const;

const COLORS = { pending: 'yellow', accepted: 'green', expired: 'gray', revoked: 'red' } as const;

export const InvitationStatus = ({ status }: { status: keyof typeof COLORS }) => (
  <StatusText color={COLORS[status]} label={STATUS_LABELS[status]} />
);
