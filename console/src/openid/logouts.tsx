import { Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { StatusText } from '../components/status-text.tsx';
import type { Column } from '../components/virtual-table.tsx';
import type { OpenidApp } from './use-openid.ts';

const PAGE_SIZE = 50;
const REFRESH_MS = 5_000;

type Logout = Outputs['openid']['logouts'][number];

/** The logouts that are sent to the app, and their results. */
export const Logouts = ({
  openid: { client_id: id, backchannel_logout_uri: uri },
}: {
  openid: OpenidApp;
}) => {
  const logouts = useInfiniteQuery(
    trpc.openid.logouts.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        refetchInterval: ({ state }) => (state.data?.pages.some(hasWaiting) ? REFRESH_MS : false),
      },
    ),
  );
  return (
    <section aria-labelledby="openid-logouts">
      <Title order={2} size="h3" mb="sm" id="openid-logouts">
        Logouts sent to the app
      </Title>
      <PagedTable
        label="Logouts sent to the app"
        columns={COLUMNS}
        pages={logouts}
        keyOf={({ id }) => id}
        empty={
          uri === '' ? (
            <EmptyState title="No logouts are sent to the app">
              Enter its back-channel logout address above. Each login that ends is then sent there.
            </EmptyState>
          ) : (
            <EmptyState title="No logouts yet">
              When a login to the app ends, the result appears here, and is kept for seven days.
            </EmptyState>
          )
        }
      />
    </section>
  );
};

const hasWaiting = (page: readonly Logout[]): boolean => page.some((logout) => stateOf(logout) === 'waiting');

const stateOf = ({ delivered_at: delivered, failed_at: failed }: Logout) => {
  if (delivered) return 'delivered';
  return failed ? 'failed' : 'waiting';
};

const STATES = {
  waiting: { label: 'Waiting', color: 'yellow' },
  delivered: { label: 'Delivered', color: 'green' },
  failed: { label: 'Failed', color: 'red' },
} as const;

/** What the app answered, or why it did not. */
const answerOf = ({ attempts, response_status: status, error }: Logout): string =>
  attempts === 0 ? 'Not sent yet' : (error ?? String(status ?? 'No response'));

const COLUMNS: Column<Logout>[] = [
  {
    heading: 'Person',
    width: 'minmax(10rem, 2fr)',
    cell: ({ email, subject }) =>
      email === null ? (
        <span title={subject}>{subject}</span>
      ) : (
        <Link className="text-link" to="/people/$email" params={{ email }} title={email}>
          {email}
        </Link>
      ),
  },
  {
    heading: 'Result',
    width: '7rem',
    onPhone: 'corner',
    cell: (logout) => <StatusText {...STATES[stateOf(logout)]} />,
  },
  {
    heading: 'Answer',
    width: '2fr',
    cell: (logout) => <span title={answerOf(logout)}>{answerOf(logout)}</span>,
  },
  { heading: 'Attempts', width: '5rem', cell: ({ attempts }) => attempts },
  { heading: 'Logged out', width: '9.5rem', cell: ({ ended_at: date }) => <DateText date={date} /> },
  {
    heading: 'Next attempt',
    width: '9.5rem',
    cell: ({ next_attempt_at: date }) => <DateText date={date} none="–" />,
  },
];
