import type { Outputs } from '../api.ts';
import { StatusText } from '../components/status-text.tsx';
import { attemptText } from './attempt.tsx';
import { DELIVERY_STATUSES, type DeliveryStatus } from './webhook-search.ts';

export type Delivery = Outputs['webhooks']['deliveries'][number];

const STATES = {
  waiting: { label: 'Waiting', color: 'yellow' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
} as const satisfies Record<DeliveryStatus, unknown>;

export const STATUS_CHOICES = DELIVERY_STATUSES.map((value) => ({ value, label: STATES[value].label }));

export const DeliveryState = ({ status }: Pick<Delivery, 'status'>) => <StatusText {...STATES[status]} />;

export const responseText = ({ attempts, response_status, duration_ms, error }: Delivery): string =>
  attempts === 0 ? 'Not sent yet' : attemptText({ status: response_status, duration_ms, error });
