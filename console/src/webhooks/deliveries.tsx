import { Alert, Button, Group, Stack, Table, Title, UnstyledButton } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { keepPreviousData, useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { wordsOf } from '../audit/audit-actions.ts';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { joined } from '../components/form-fields.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { oneOf } from '../components/search-params.ts';
import { StatusText } from '../components/status-text.tsx';
import { attemptText, Body } from './attempt.tsx';
import { useWebhookRefresh } from './use-webhook-changes.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from './webhook-search.ts';
import type { Webhook } from './webhook-state.tsx';

const PAGE_SIZE = 50;
const REFRESH_MS = 5_000;
const route = getRouteApi('/webhooks/$id');

/** The deliveries to a webhook, and the responses. */
export const Deliveries = ({ webhook: { id } }: { webhook: Webhook }) => {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const [opened, setOpened] = useState<Delivery | null>(null);
  const deliveries = useInfiniteQuery(
    trpc.webhooks.deliveries.infiniteQueryOptions(
      { id, status, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.event),
        placeholderData: keepPreviousData,
        refetchInterval: ({ state }) => (state.data?.pages.some(hasWaiting) ? REFRESH_MS : false),
      },
    ),
  );
  return (
    <section aria-labelledby="deliveries">
      <Title order={2} size="h3" mb="sm" id="deliveries">
        Deliveries
      </Title>
      <FilterBar>
        <FilterChip
          label="Status"
          choices={STATUS_CHOICES}
          value={status}
          onChange={(value) =>
            void navigate({ search: { status: oneOf(value, DELIVERY_STATUSES) }, replace: true })
          }
        />
      </FilterBar>
      <PagedTable
        label="Deliveries"
        columns={columnsOf(setOpened)}
        pages={deliveries}
        keyOf={({ event }) => event}
        empty={
          status === undefined ? (
            <EmptyState title="Nothing was sent yet">
              What is sent appears here, and is kept for seven days.
            </EmptyState>
          ) : (
            <EmptyState title="No deliveries match">Remove the filter.</EmptyState>
          )
        }
      />
      <DeliveryDialog webhook={id} delivery={opened} onClose={() => setOpened(null)} />
    </section>
  );
};

const hasWaiting = (page: readonly Delivery[]): boolean => page.some(({ status }) => status === 'waiting');

const columnsOf = (open: (delivery: Delivery) => void): Column<Delivery>[] => [
  {
    heading: 'Event',
    width: '2.4fr',
    cell: (delivery) => (
      <UnstyledButton
        className="text-link"
        title={delivery.type}
        aria-label={`Details of: ${wordsOf(delivery.type)}, event ${delivery.event}`}
        onClick={() => open(delivery)}
      >
        {wordsOf(delivery.type)}
      </UnstyledButton>
    ),
  },
  {
    heading: 'Status',
    width: '8rem',
    onPhone: 'corner',
    cell: ({ status }) => <DeliveryState status={status} />,
  },
  { heading: 'Response', width: '2fr', cell: (delivery) => responseText(delivery) },
  { heading: 'Attempts', width: '5rem', onPhone: 'half', cell: ({ attempts }) => attempts },
  { heading: 'ID', width: '5rem', onPhone: 'half', cell: ({ event }) => event },
  {
    heading: 'Last attempt',
    width: '9.5rem',
    cell: ({ last_attempt_at: date }) => <DateText date={date} none="–" />,
  },
];

type Props = { webhook: number; delivery: Delivery | null; onClose: () => void };

/** The delivery of an event, and the response. */
const DeliveryDialog = ({ webhook, delivery, onClose }: Props) => (
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

type Delivery = Outputs['webhooks']['deliveries'][number];

const STATES = {
  waiting: { label: 'Waiting', color: 'yellow' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
} as const satisfies Record<DeliveryStatus, unknown>;

const STATUS_CHOICES = DELIVERY_STATUSES.map((value) => ({ value, label: STATES[value].label }));

const DeliveryState = ({ status }: Pick<Delivery, 'status'>) => <StatusText {...STATES[status]} />;

const responseText = ({ attempts, response_status, duration_ms, error }: Delivery): string =>
  attempts === 0 ? 'Not sent yet' : attemptText({ status: response_status, duration_ms, error });
