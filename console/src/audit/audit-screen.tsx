import { Menu, Text, UnstyledButton } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useLinesOf, withNames } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { queryOf } from '../components/search-params.ts';
import type { Column } from '../components/virtual-table.tsx';
import { isOfMembership, labelOf } from './audit-actions.ts';
import type { AuditFilter } from './audit-filter.ts';
import { AuditFilters } from './audit-filters.tsx';
import { ActorLink, type Entry, TargetLink } from './audit-links.tsx';
import { withTimes } from './audit-periods.ts';
import { EntryModal } from './entry-modal.tsx';

const PAGE_SIZE = 100;
/** The largest page of the REST endpoint. */
const MAX_CSV_ROWS = 10_000;
const route = getRouteApi('/audit');

/** Who changed what, newest first. */
export const AuditScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const [opened, setOpened] = useState<Entry | null>(null);
  const change = (changes: Partial<AuditFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const entries = useInfiniteQuery(
    trpc.audit.list.infiniteQueryOptions(
      { ...withTimes(filter), limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );
  return (
    <>
      <ScreenHeader
        title="Audit trail"
        lead="Who changed what, newest first."
        menu={<CsvItem filter={filter} />}
      />
      <AuditFilters filter={filter} onChange={change} />
      <PagedTable
        label="Audit trail"
        columns={columnsOf(setOpened)}
        pages={entries}
        keyOf={({ id }) => id}
        empty={<EmptyState title="No entries match">Remove a part of the filter.</EmptyState>}
      />
      <EntryModal entry={opened} onClose={() => setOpened(null)} />
    </>
  );
};

const columnsOf = (open: (entry: Entry) => void): Column<Entry>[] => [
  {
    heading: 'Time',
    width: '9rem',
    onPhone: 'plain',
    cell: ({ timestamp }) => <DateText date={timestamp} />,
  },
  { heading: 'Actor', width: '1.6fr', cell: (entry) => <ActorLink entry={entry} /> },
  {
    heading: 'Action',
    width: '2.2fr',
    onPhone: 'title',
    cell: ({ action }) => <span title={labelOf(action)}>{labelOf(action)}</span>,
  },
  { heading: 'Target', width: '2fr', cell: (entry) => <TargetLink entry={entry} /> },
  {
    heading: 'Change',
    width: '2.4fr',
    onPhone: 'plain',
    cell: (entry) => <ChangeButton entry={entry} onOpen={() => open(entry)} />,
  },
];

/** A summary of the change, which opens its details. */
const ChangeButton = ({ entry, onOpen }: { entry: Entry; onOpen: () => void }) => {
  const { action, target, clients } = entry;
  const nameOfClient = useClientName();
  const where = isOfMembership(action) ? clients.map(nameOfClient) : [];
  const text = [...where, ...useLinesOf()(withNames(entry))].join(', ') || 'Details';
  return (
    <UnstyledButton
      display="block"
      w="100%"
      onClick={onOpen}
      aria-label={`Details of: ${labelOf(action)}, ${target}: ${text}`}
    >
      <Text span display="block" size="sm" className="text-link" title={text} truncate>
        {text}
      </Text>
    </UnstyledButton>
  );
};

/** Downloads all matching entries, not only the loaded ones. */
const CsvItem = ({ filter }: { filter: AuditFilter }) => {
  const { from, to, ...others } = withTimes(filter);
  const times = { from: from?.toISOString(), to: to?.toISOString() };
  const query = queryOf({ ...others, ...times, page_size: MAX_CSV_ROWS, format: 'csv' });
  return (
    <Menu.Item
      component="a"
      href={`/api/v1/jb/audit/?${query}`}
      download="audit.csv"
      title="The newest 10,000 entries"
      leftSection={<IconDownload size={16} stroke={1.6} aria-hidden />}
    >
      Download CSV
    </Menu.Item>
  );
};
