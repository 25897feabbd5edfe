import { Group, Menu, SegmentedControl, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useLinesOf } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { nameOf } from '../components/name-of.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { useIsPhone } from '../components/row-card.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { oneOf, queryOf } from '../components/search-params.ts';
import { useFound } from '../components/use-found.ts';
import { useClientChoice } from '../session/client-choice.ts';
import { ViewsMenu } from '../views/views-menu.tsx';
import { ACTION_OPTIONS, labelOf } from './audit-actions.ts';
import {
  actionsOf,
  apiFilterOf,
  daysOf,
  kindOf,
  OTHER_DAYS,
  PERIOD_LABELS,
  periodOf,
} from './audit-filter.ts';
import { AUDIT_KINDS, type AuditFilter, type AuditKind } from './audit-search.ts';
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
  const isPhone = useIsPhone();
  const more = actionsText(entry) || linesOf(changesOf(entry)).join(', ');
  return (
    <UnstyledButton display="block" w="100%" aria-haspopup="dialog" onClick={onOpen}>
      <Text span display="block" size="sm" truncate={!isPhone}>
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
      download
      title="The newest 10,000 entries"
      leftSection={<IconDownload size={16} stroke={1.6} aria-hidden />}
    >
      Download CSV
    </Menu.Item>
  );
};

type Props = { filter: AuditFilter; onChange: (changes: Partial<AuditFilter>) => void };

const PERIOD_CHOICES = PERIOD_LABELS.map((label) => ({ value: label, label }));

const AuditFilters = ({ filter, onChange }: Props) => (
  <FilterBar views={<ViewsMenu list="audit" search={filter} />}>
    <SubjectChip label="Actor" isPerson value={filter.actor} onChange={(actor) => onChange({ actor })} />
    <ActionChip filter={filter} onChange={onChange} />
    <SubjectChip label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
    {filter.person !== undefined && (
      <SubjectChip label="About" isPerson value={filter.person} onChange={(person) => onChange({ person })} />
    )}
    <PeriodChip filter={filter} onChange={onChange} />
  </FilterBar>
);

/** Any number of actions. */
const ActionChip = ({ filter, onChange }: Props) => {
  const chosen = actionsOf(filter);
  const [first] = chosen;
  const toggle = (action: string): void => {
    const others = chosen.filter((one) => one !== action);
    const actions = others.length === chosen.length ? [...chosen, action] : others;
    onChange({ action: actions.join(',') || undefined });
  };
  return (
    <FilterChip
      label="Action"
      choices={ACTION_OPTIONS}
      value={first}
      text={chosen.length > 1 ? `${chosen.length} actions` : first && labelOf(first)}
      chosen={chosen}
      onChange={(action) => (action === undefined ? onChange({ action }) : toggle(action))}
    />
  );
};

/** A common period, or a first and a last day. */
const PeriodChip = ({ filter, onChange }: Props) => {
  const [isChoosing, setChoosing] = useState(false);
  const period = isChoosing ? OTHER_DAYS : periodOf(filter);
  return (
    <>
      <FilterChip
        label="Period"
        choices={PERIOD_CHOICES}
        value={period}
        onChange={(chosen) => {
          setChoosing(chosen === OTHER_DAYS);
          if (chosen !== OTHER_DAYS) onChange(daysOf(chosen) ?? { from: undefined, to: undefined });
        }}
      />
      {period === OTHER_DAYS && (
        <>
          <DayField label="From" value={filter.from} onChange={(from) => onChange({ from })} />
          <DayField label="To" value={filter.to} onChange={(to) => onChange({ to })} />
        </>
      )}
    </>
  );
};

type DayProps = { label: string; value: string | undefined; onChange: (day: string | undefined) => void };

const DayField = ({ label, value, onChange }: DayProps) => (
  <TextInput
    type="date"
    size="xs"
    radius="xl"
    aria-label={label}
    leftSection={label}
    leftSectionWidth={52}
    value={value ?? ''}
    onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
  />
);

const TYPING_MS = 120;

type SubjectProps = {
  label: string;
  /** A name as in the audit trail: an address, the slug of an app, the name of a client. */
  value: string | undefined;
  /** Actors are people; targets may also be invitees, apps and clients. */
  isPerson?: boolean;
  onChange: (value: string | undefined) => void;
};

/** A filter by a subject that the service finds. Former names are found by their exact text. */
const SubjectChip = ({ label, value, isPerson = false, onChange }: SubjectProps) => {
  const [text, setText] = useState('');
  const typed = text.trim();
  const [search] = useDebouncedValue(typed, TYPING_MS);
  const { people, invitations, apps, clients, isSearching } = useFound(search);
  const names = new Map(people.map((person) => [person.email, `${nameOf(person)}, ${person.email}`]));
  if (!isPerson) {
    for (const { email } of invitations) if (!names.has(email)) names.set(email, `${email}, invited`);
    for (const app of apps) names.set(app.slug, `${app.label}, app`);
    for (const { name } of clients) if (!names.has(name)) names.set(name, `${name}, client`);
  }
  const exact = typed.includes('@') ? typed.toLowerCase() : typed;
  // Not while the service is searching: Enter must not choose this item instead of a person.
  if (search !== '' && search === typed && !isSearching && !names.has(exact))
    names.set(exact, `${names.size === 0 ? 'Nothing found. ' : ''}Entries of exactly “${exact}”`);
  return (
    <FilterChip
      label={label}
      choices={[...names].map(([found, name]) => ({ value: found, label: name }))}
      value={value}
      text={value}
      onChange={onChange}
      onSearch={setText}
      none={typed === '' ? 'Type a name or an email address.' : 'Searching…'}
    />
  );
};
