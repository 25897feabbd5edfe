import { Anchor, Button, Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { typesText } from './type-choices.ts';
import { type Webhook, WebhookState } from './webhook-state.tsx';

const PAGE_SIZE = 50;

/** The reference of the API about webhooks, for programs. */
const DOCS = '/docs/#tag/webhooks';

export const DocsLink = () => (
  <Anchor href={DOCS} underline="always" fz="inherit">
    the API reference
  </Anchor>
);

/** @param client undefined: the webhooks of all clients that the user administers, and for superusers also of the installation */
export const useWebhooks = (client: number | undefined) =>
  useInfiniteQuery(
    trpc.webhooks.list.infiniteQueryOptions(
      { client, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );

type Props = {
  webhooks: ReturnType<typeof useWebhooks>;
  /** Whether the webhooks may belong to several clients. */
  hasClients: boolean;
  onCreate: () => void;
};

export const WebhookList = ({ webhooks, hasClients, onCreate }: Props) => {
  const nameOfClient = useClientName();
  return (
    <PagedTable
      label="Webhooks"
      columns={columnsOf(hasClients ? nameOfClient : undefined)}
      pages={webhooks}
      keyOf={({ id }) => id}
      empty={
        <EmptyState
          title="No webhooks yet"
          action={
            <Button variant="default" onClick={onCreate}>
              Create a webhook
            </Button>
          }
        >
          A webhook sends events to your URL as they happen. See <DocsLink />.
        </EmptyState>
      }
    />
  );
};

const columnsOf = (nameOfClient: ((id: number | null) => string) | undefined): Column<Webhook>[] => [
  {
    heading: 'URL',
    width: 'minmax(14rem, 3fr)',
    cell: ({ id, url }) => (
      <Link className="text-link" to="/webhooks/$id" params={{ id: String(id) }} title={url}>
        {url}
      </Link>
    ),
  },
  {
    heading: 'Description',
    width: '2fr',
    onPhone: 'plain',
    cell: ({ description }) => (
      <Text span fz="inherit" c="dimmed">
        {description}
      </Text>
    ),
  },
  ...(nameOfClient
    ? [
        {
          heading: 'Events of',
          width: '1.2fr',
          cell: ({ client }: Webhook) => nameOfClient(client) || 'The installation',
        },
      ]
    : []),
  { heading: 'Events', width: '1.2fr', onPhone: 'plain', cell: ({ types }) => typesText(types) },
  {
    heading: 'State',
    width: '12rem',
    cell: (webhook) => <WebhookState webhook={webhook} />,
  },
];
