import { Button, Menu, SimpleGrid, Skeleton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDownload } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { trpc } from '../api.ts';
import { showsUsage } from '../apps/app-of.ts';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { nameOf } from '../components/name-of.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { queryOf } from '../components/search-params.ts';
import { lazyPart } from '../lazy-part.ts';
import { daysOf, useReport } from './usage-data.ts';
import { appsIn, listed, MAX_COMPARED, reportOf, spanOf, type UsageFilter } from './usage-filter.ts';
import { PeriodChoice, UsageReport } from './usage-report.tsx';

// Loaded after the chart, or instead of it.
const UsageComparison = lazyPart(() => import('./usage-comparison.tsx'), 'UsageComparison');
const AppFigures = lazyPart(() => import('./app-figures.tsx'), 'AppFigures');
const TopUsers = lazyPart(() => import('./rankings.tsx'), 'TopUsers');
const TopStacks = lazyPart(() => import('./rankings.tsx'), 'TopStacks');
const UsageEntries = lazyPart(() => import('./usage-entries.tsx'), 'UsageEntries');

const route = getRouteApi('/usage');

/** Usage of all apps, or of a client, an app, some apps side by side, a stack or a person. The choice is part of the address. */
export const UsageScreen = () => {
  const filter = route.useSearch();
  const { client, email, period } = filter;
  const ids = appsIn(filter);
  const navigate = route.useNavigate();
  const change = (changes: Partial<UsageFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true, resetScroll: false });
  };
  const apps = useQuery(trpc.apps.list.queryOptions({ client })).data?.filter(showsUsage);
  const [app] = ids;
  const report = reportOf(filter);
  const days = daysOf(useReport(report).data ?? []);
  const choice = <PeriodChoice period={period} onChange={(chosen) => change({ period: chosen })} />;
  const compared = ids.map((id) => ({ id, label: apps?.find((one) => one.id === id)?.label ?? id }));
  return (
    <>
      <ScreenHeader
        title="Usage"
        lead={
          compared.length > 1
            ? `Actions in ${listed(compared.map(({ label }) => label))}, with a line for each app.`
            : 'What people do in apps, compared with the period before.'
        }
        actions={<Downloads filter={filter} apps={compared} days={days} />}
      />
      <UsageFilters filter={filter} apps={apps} onChange={change} />
      {compared.length > 1 ? (
        <Suspense fallback={<Skeleton height={320} mt="md" />}>
          <UsageComparison apps={compared} period={period} actions={choice} />
        </Suspense>
      ) : (
        <UsageReport title={`Usage by ${report.interval}`} report={report} hasTotal actions={choice} />
      )}
      <Suspense fallback={<Skeleton height={240} mt="md" />}>
        {ids.length !== 1 && email === undefined && (
          <AppFigures
            client={client}
            {...(ids.length > 1 && { apps: ids })}
            time={spanOf(period)}
            days={days}
            onApp={(id) => change({ app: id })}
          />
        )}
        {ids.length === 1 && app !== undefined && (
          <>
            <SimpleGrid cols={{ base: 1, md: 2 }} mt="md">
              <TopUsers appId={app} days={days} />
              <TopStacks appId={app} days={days} />
            </SimpleGrid>
            <UsageEntries appId={app} email={email} />
          </>
        )}
      </Suspense>
    </>
  );
};

type DownloadsProps = { filter: UsageFilter; apps: { id: string; label: string }[]; days: number };

/** The numbers of the chart, and the entries of each app in the same time. */
const Downloads = ({ filter, apps, days }: DownloadsProps) => {
  const { interval } = reportOf(filter);
  const reports = apps.length === 0 ? [{ id: undefined, label: 'All apps' }] : apps;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} stroke={1.75} aria-hidden />}>
          Download
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {reports.map(({ id, label }) => (
          <Menu.Item
            key={label}
            component="a"
            href={`/api/v1/jb/usage/report/?${queryOf({ ...reportOf({ ...filter, app: id }), format: 'csv' })}`}
            download
          >
            {label} by {interval} (CSV)
          </Menu.Item>
        ))}
        {days > 0 &&
          apps.map(({ id, label }) => (
            <Menu.Item
              key={id}
              component="a"
              href={`/api/v1/jb/${entriesPath(id, filter.email)}?window=${days}&format=csv`}
              download
            >
              Entries of {label}, {days.toLocaleString()} days (CSV)
            </Menu.Item>
          ))}
      </Menu.Dropdown>
    </Menu>
  );
};

const entriesPath = (appId: string, email: string | undefined): string =>
  email === undefined
    ? `apps/${encodeURIComponent(appId)}/usage/`
    : `users/${encodeURIComponent(email)}/usage/${encodeURIComponent(appId)}/`;

const TYPING_MS = 120;
const FOUND_PEOPLE = 20;

type FiltersProps = {
  filter: UsageFilter;
  apps: { id: string; label: string }[] | undefined;
  onChange: (changes: Partial<UsageFilter>) => void;
};

/** A person and a stack exclude each other: the totals by stack contain no people. Several apps exclude both. */
const UsageFilters = ({ filter, apps, onChange }: FiltersProps) => {
  const { stack, email } = filter;
  const ids = appsIn(filter);
  const [app] = ids;
  const labels = ids.map((id) => apps?.find((one) => one.id === id)?.label ?? id);
  const stacks = useQuery(
    trpc.apps.stacks.queryOptions({ app_id: app ?? '' }, { enabled: ids.length === 1 }),
  );
  return (
    <FilterBar>
      <FilterChip
        label={ids.length > 1 ? 'Apps' : 'App'}
        hint={`Up to ${MAX_COMPARED} apps are compared.`}
        max={MAX_COMPARED}
        choices={apps?.map(({ id, label }) => ({ value: id, label }))}
        value={filter.app}
        text={ids.length === 0 ? undefined : listed(labels)}
        chosen={ids}
        onChange={(id) => {
          const others = ids.filter((one) => one !== id);
          const chosen = id === undefined ? [] : ids.includes(id) ? others : [...ids, id];
          onChange({
            app: chosen.join(',') || undefined,
            stack: undefined,
            ...(chosen.length > 1 && { email: undefined }),
          });
        }}
      />
      {ids.length === 1 && (
        <FilterChip
          label="Page group"
          choices={stacks.data?.map(({ id, label }) => ({ value: id, label }))}
          value={stack}
          onChange={(chosen) => onChange({ stack: chosen, email: undefined })}
        />
      )}
      {ids.length < 2 && (
        <PersonChip email={email} onChange={(chosen) => onChange({ email: chosen, stack: undefined })} />
      )}
    </FilterBar>
  );
};

type PersonProps = { email: string | undefined; onChange: (email: string | undefined) => void };

/** The service searches, because there may be more people than a browser can hold. */
const PersonChip = ({ email, onChange }: PersonProps) => {
  const [isOpened, setOpened] = useState(false);
  const [text, setText] = useState('');
  const [search] = useDebouncedValue(text.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, limit: FOUND_PEOPLE },
      { enabled: isOpened, placeholderData: keepPreviousData },
    ),
  );
  const chosen = useQuery(
    trpc.users.get.queryOptions({ email: email ?? '' }, { enabled: email !== undefined, retry: false }),
  );
  const choices = people.data?.map((person) => ({ value: person.email, label: nameOf(person) }));
  const isFound = email === undefined || choices?.some(({ value }) => value === email);
  const label = chosen.data?.email === email && chosen.data ? nameOf(chosen.data) : (email ?? '');
  return (
    <FilterChip
      label="Person"
      choices={choices}
      value={email}
      text={isFound ? undefined : label}
      onChange={onChange}
      onOpen={() => setOpened(true)}
      onSearch={setText}
      none="No one matches."
    />
  );
};
