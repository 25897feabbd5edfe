import { Title, UnstyledButton } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { wordsOf } from '../audit/audit-actions.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { oneOf } from '../components/search-params.ts';
import type { Column } from '../components/virtual-table.tsx';
import { DeliveryDialog } from './delivery-dialog.tsx';
import { type Delivery, DeliveryState, responseText, STATUS_CHOICES } from './delivery-state.tsx';
import { DELIVERY_STATUSES } from './webhook-search.ts';
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
