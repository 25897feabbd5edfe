import { Alert, Button, Group, Stack, Table } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { wordsOf } from '../audit/audit-actions.ts';
import { DateText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { joined } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Body } from './attempt.tsx';
import { type Delivery, DeliveryState, responseText } from './delivery-state.tsx';
import { useWebhookRefresh } from './use-webhook-changes.ts';

type Props = { webhook: number; delivery: Delivery | null; onClose: () => void };

/** The delivery of an event, and the response. */
export const DeliveryDialog = ({ webhook, delivery, onClose }: Props) => (
  <Dialog isOpen={delivery !== null} onClose={onClose} size="lg" title={delivery && wordsOf(delivery.type)}>
    {delivery && <DeliveryDetails webhook={webhook} delivery={delivery} onClose={onClose} />}
  </Dialog>
);

const DeliveryDetails = ({ webhook, delivery, onClose }: Props & { delivery: Delivery }) => {
  const refresh = useWebhookRefresh();
  const retry = useMutation(
    trpc.webhooks.replay.mutationOptions({
      onSuccess: () => {
        refresh(`Event ${delivery.event} is sent again.`);
        onClose();
      },
    }),
  );
  const { event, type, attempts, body, response } = delivery;
  const facts: ([name: string, value: ReactNode] | null)[] = [
    ['Status', <DeliveryState key="status" status={delivery.status} />],
    ['Response', responseText(delivery)],
    ['Event', `${event}, ${type}`],
    ['Attempts', attempts],
    ['Queued', <DateText key="queued" date={delivery.queued_at} />],
    delivery.last_attempt_at && ['Last attempt', <DateText key="last" date={delivery.last_attempt_at} />],
    delivery.next_attempt_at && ['Next attempt', <DateText key="next" date={delivery.next_attempt_at} />],
    delivery.failed_at && ['Given up', <DateText key="failed" date={delivery.failed_at} />],
  ];
  const refusal = joined(fieldErrors(retry.error)).event;
  return (
    <Stack>
      <Table layout="auto">
        <Table.Tbody>
          {facts
            .filter((fact) => fact !== null)
            .map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" c="dimmed" fw={400} w="9rem">
                  {name}
                </Table.Th>
                <Table.Td className="break-words">{value}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
      {body && <Body title="What was sent" text={JSON.stringify(body, null, 2)} />}
      {response !== null && <Body title="What was answered" text={response} />}
      {refusal === undefined ? <ProblemAlert error={retry.error} /> : <Alert color="red">{refusal}</Alert>}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        {delivery.status !== 'waiting' && (
          <Button loading={retry.isPending} onClick={() => retry.mutate({ id: webhook, event })}>
            Send again
          </Button>
        )}
      </Group>
    </Stack>
  );
};
