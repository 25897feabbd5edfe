import { Text } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { useClientName, useClients } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { DateText, timeText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip, FixedChip } from '../components/filter-chip.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { oneOf } from '../components/search-params.ts';
import { ViewsMenu } from '../views/views-menu.tsx';
import { MailNotice } from './mail-notice.tsx';
import { reasonColumn, reasonOf } from './mail-reason.tsx';
import { MailStatus, STATUS_LABELS } from './mail-status.tsx';
import { isWaiting, MAIL_STATUSES, type MailsFilter } from './mails-filter.ts';

type Mail = Outputs['mail']['list'][number];

const PAGE_SIZE = 100;
const REFRESH_MS = 5_000;
const route = getRouteApi('/mails');

/** The queued, sent and failed mails. */
export const MailsScreen = () => {
  const filter = route.useSearch();
  const { view: _view, created_at, ...conditions } = filter;
  const navigate = route.useNavigate();
  const nameOfClient = useClientName();
  const hasSeveralClients = useClients().length > 1;
  const change = (changes: Partial<MailsFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const mails = useInfiniteQuery(
    trpc.mail.list.infiniteQueryOptions(
      {
        ...conditions,
        created_at: created_at ? new Date(created_at) : undefined,
        limit: PAGE_SIZE,
      },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
        refetchInterval: ({ state }) => (state.data?.pages.some(hasWaiting) ? REFRESH_MS : false),
      },
    ),
  );
  return (
    <>
      <ScreenHeader title="Mails" lead="Invitations and password mails, newest first." />
      <FilterBar
        views={<ViewsMenu list="mails" search={filter} />}
        search={{
          label: 'Search by email address',
          value: filter.search,
          onChange: (search) => change({ search }),
        }}
      >
        <FilterChip
          label="Status"
          choices={STATUS_CHOICES}
          value={filter.status}
          onChange={(value) => change({ status: oneOf(value, MAIL_STATUSES) })}
        />
        {created_at !== undefined && (
          <FixedChip label="Created" onClear={() => change({ created_at: undefined })}>
            Created: {timeText(new Date(created_at))}
          </FixedChip>
        )}
      </FilterBar>
      <MailNotice />
      <PagedTable
        label="Mails"
        columns={columnsOf(
          hasSeveralClients ? nameOfClient : undefined,
          mails.data?.pages.flat().some((mail) => reasonOf(mail) !== '') ?? false,
        )}
        pages={mails}
        keyOf={({ id }) => id}
        empty={<EmptyState title="No mails">Change the filter, or invite someone.</EmptyState>}
      />
    </>
  );
};

const STATUS_CHOICES = MAIL_STATUSES.map((value) => ({ value, label: STATUS_LABELS[value] }));

const hasWaiting = (mails: Mail[]): boolean => mails.some(({ status }) => isWaiting(status));

/** @param nameOfClient set for users who see several clients */
const columnsOf = (
  nameOfClient: ((id: number | null) => string) | undefined,
  hasReasons: boolean,
): Column<Mail>[] => [
  {
    heading: 'To',
    width: 'minmax(10rem, 2fr)',
    sticky: 'start',
    cell: ({ id, recipient }) => (
      <Link className="text-link" to="/mails/$id" params={{ id: String(id) }}>
        {recipient}
      </Link>
    ),
  },
  {
    heading: 'Subject',
    width: '2fr',
    onPhone: 'plain',
    cell: ({ subject }) => (
      <Text span fz="inherit" c="dimmed">
        {subject}
      </Text>
    ),
  },
  ...(nameOfClient
    ? [{ heading: 'Client', width: '1fr', cell: ({ client }: Mail) => nameOfClient(client) }]
    : []),
  {
    heading: 'Status',
    width: '8rem',
    onPhone: 'corner',
    cell: ({ status }) => <MailStatus status={status} />,
  },
  ...(hasReasons ? [reasonColumn<Mail>((mail) => mail)] : []),
  { heading: 'Created', width: '9.5rem', cell: ({ created_at: date }) => <DateText date={date} /> },
];
