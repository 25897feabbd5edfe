import { Group, Menu, SegmentedControl, Text, UnstyledButton } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useLinesOf } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { oneOf, queryOf } from '../components/search-params.ts';
import type { Column } from '../components/virtual-table.tsx';
import { useClientChoice } from '../layout/client-choice.ts';
import { AUDIT_KINDS, type AuditFilter, type AuditKind, apiFilterOf, kindOf } from './audit-filter.ts';
import { AuditFilters } from './audit-filters.tsx';
import { EntryDialog } from './entry-dialog.tsx';
import { actionsText, changesOf, type Entry, Sentence } from './entry-sentence.tsx';

const PAGE_SIZE = 100;
/** The largest page of the REST endpoint. */
const MAX_CSV_ROWS = 10_000;
const route = getRouteApi('/audit');

const KIND_LABELS: Record<AuditKind, string> = {
  changes: 'Changes',
  logins: 'Logins and failures',
  all: 'All',
};

/** Who changed what, newest first, with one row for an operation. */
export const AuditScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const [opened, setOpened] = useState<Entry | null>(null);
  const { clients } = useClientChoice();
  const change = (changes: Partial<AuditFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const kind = kindOf(filter);
  const wanted = apiFilterOf(filter);
  const operations = useInfiniteQuery(
    trpc.audit.listOperations.infiniteQueryOptions(
      { ...wanted, limit: PAGE_SIZE },
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
      <Group mb="sm">
        <SegmentedControl
          aria-label="What is listed"
          data={AUDIT_KINDS.map((value) => ({ value, label: KIND_LABELS[value] }))}
          value={kind}
          onChange={(value) => change({ kind: oneOf(value, AUDIT_KINDS) })}
        />
      </Group>
      <AuditFilters filter={filter} onChange={change} />
      <PagedTable
        label="Audit trail"
        columns={columnsOf(kind, clients.length > 1 && filter.client === undefined, setOpened)}
        pages={operations}
        keyOf={({ id }) => id}
        empty={<EmptyState title="No entries match">Remove a part of the filter.</EmptyState>}
      />
      <EntryDialog entry={opened} filter={wanted} onClose={() => setOpened(null)} />
    </>
  );
};

const columnsOf = (kind: AuditKind, hasClients: boolean, open: (entry: Entry) => void): Column<Entry>[] => [
  {
    heading: 'When',
    width: '9rem',
    onPhone: 'plain',
    cell: ({ timestamp }) => <DateText date={timestamp} />,
  },
  {
    heading: 'What',
    width: 'minmax(16rem, 4fr)',
    onPhone: 'title',
    cell: (entry) => <WhatButton entry={entry} onOpen={() => open(entry)} />,
  },
  ...(kind === 'logins'
    ? [{ heading: 'Network', width: '9rem', cell: ({ address }: Entry) => address ?? 'Unknown' }]
    : []),
  ...(hasClients
    ? [
        {
          heading: 'Client',
          width: 'minmax(7rem, 1fr)',
          cell: ({ clients }: Entry) => <ClientNames ids={clients} />,
        },
      ]
    : []),
];

const ClientNames = ({ ids }: { ids: readonly number[] }) => {
  const names = ids.map(useClientName()).join(', ');
  return <span title={names}>{names || '–'}</span>;
};

/** The sentence of an entry and its changes, which open it. */
const WhatButton = ({ entry, onOpen }: { entry: Entry; onOpen: () => void }) => {
  const linesOf = useLinesOf();
  const more = actionsText(entry) || linesOf(changesOf(entry)).join(', ');
  return (
    <UnstyledButton display="block" w="100%" onClick={onOpen}>
      <Text span display="block" size="sm" truncate>
        <Sentence entry={entry} />
        {more !== '' && (
          <Text span size="sm" c="dimmed" title={more}>
            {' '}
            · {more}
          </Text>
        )}
      </Text>
    </UnstyledButton>
  );
};

/** Downloads all matching entries one by one, not only the loaded ones. */
const CsvItem = ({ filter }: { filter: AuditFilter }) => {
  const { from, to, ...others } = apiFilterOf(filter);
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
