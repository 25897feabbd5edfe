import type { Inputs } from '../api.ts';
import { oneOf } from '../components/search-params.ts';

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed'] as const satisfies NonNullable<
  Inputs['webhooks']['deliveries']['status']
>[];

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The filter of the deliveries of a webhook, from the address. */
export const deliveriesFilter = ({
  status,
}: Record<string, unknown>): { status?: DeliveryStatus | undefined } => ({
  status: oneOf(status, DELIVERY_STATUSES),
});
