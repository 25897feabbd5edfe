import type { Outputs } from '../api.ts';
import { dateOf } from '../components/date-text.tsx';
import { StatusText } from '../components/status-text.tsx';

export type Webhook = Outputs['webhooks']['get'];

type State = { label: string; color: 'gray' | 'green' | 'yellow' | 'red' };

const stateOf = (webhook: Webhook): State => {
  const { is_active: isActive, failing_since: failingSince, disabled_at: disabledAt } = webhook;
  if (!isActive)
    return disabledAt ? { label: 'Disabled', color: 'red' } : { label: 'Not active', color: 'gray' };
  if (failingSince) return { label: `Failing since ${dateOf(failingSince)}`, color: 'yellow' };
  return { label: 'Active', color: 'green' };
};

export const WebhookState = ({ webhook }: { webhook: Webhook }) => <StatusText {...stateOf(webhook)} />;

const DISABLED_BECAUSE = {
  gone: 'because the receiver answered 410 Gone',
  failing: 'because all deliveries had failed for five days',
};

/** The problem of a webhook, and what to do about it; null if there is none. */
export const problemOf = (webhook: Webhook): string | null => {
  const { is_active: isActive, failing_since, disabled_at, disabled_reason: reason } = webhook;
  if (!isActive && disabled_at && reason)
    return `The service disabled this webhook on ${dateOf(disabled_at)}, ${DISABLED_BECAUSE[reason]}. Activate it, then replay what it has missed.`;
  if (!isActive)
    return 'This webhook is not active and gets no events. Activate it, then replay what it has missed.';
  if (failing_since)
    return `All deliveries have failed since ${dateOf(failing_since)}. They are retried for a day each. After five days the service disables the webhook.`;
  return null;
};
