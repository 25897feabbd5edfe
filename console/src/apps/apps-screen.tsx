import { Button, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { AppLink } from '../components/app-link.tsx';
import { useClients } from '../components/client-select.tsx';
import type { Column } from '../components/column.ts';
import { dayText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { serverNow } from '../server-clock.ts';
import { canOperate } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { peopleWithAccess, UNUSED_DAYS, unusedPeople } from '../views/views.ts';
import { ViewsMenu } from '../views/views-menu.tsx';
import { type App, showsUsage, UNRECORDED, versionOf } from './app-of.ts';
import { type AppsFilter, conditionsOf, filterOfUse, USES, useOf } from './apps-filter.ts';
import { NewApp } from './new-app.tsx';

const PAGE_SIZE = 100;
const MAINTENANCE = [
  { value: 'true', label: 'On' },
  { value: 'false', label: 'Off' },
];
const route = getRouteApi('/apps');

/** The apps that the user may see, oldest first. */
export const AppsScreen = () => {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const clients = useClients();
  const mayAdd = canOperate(useSession().roles);
  const [isAdding, adding] = useDisclosure();
  const change = (changes: Partial<AppsFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true });
  };
  const apps = useInfiniteQuery(
    trpc.apps.list.infiniteQueryOptions(
      { ...conditionsOf(filter), limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id),
        placeholderData: keepPreviousData,
      },
    ),
  );
  const daily = useDailyUsage(filter, apps.data?.pages ?? []);
  return (
    <>
      <ScreenHeader
        title="Apps"
        lead="Texts, maintenance, versions and usage of each app."
        actions={mayAdd && <Button onClick={adding.open}>New app</Button>}
      />
      <NewApp
        isOpen={isAdding}
        client={filter.client}
        onClose={adding.close}
        onAdded={({ id }) => navigate({ to: '/apps/$id', params: { id } })}
      />
      <FilterBar
        views={<ViewsMenu list="apps" search={filter} />}
        search={{
          label: 'Search apps',
          value: filter.search,
          onChange: (search) => change({ search }),
        }}
      >
        <FilterChip
          label="Maintenance"
          choices={MAINTENANCE}
          value={filter.in_maintenance === undefined ? undefined : String(filter.in_maintenance)}
          onChange={(value) => change({ in_maintenance: value === undefined ? undefined : value === 'true' })}
        />
        <FilterChip
          label="Used"
          choices={USES}
          value={useOf(filter)}
          onChange={(value) => change(filterOfUse(value))}
        />
        {filter.unused_days !== undefined && (
          <Link
            className="action-link"
            to="/people"
            search={{ client: filter.client, ...unusedPeople(filter.unused_days) }}
          >
            People not seen for {filter.unused_days} days
          </Link>
        )}
      </FilterBar>
      <PagedTable
        label="Apps"
        columns={columnsOf(clients, daily, apps.data?.pages.flat() ?? [])}
        pages={apps}
        keyOf={({ id }) => id}
        empty={
          Object.values(conditionsOf(filter)).every((value) => value === undefined) ? (
            <EmptyState title="There are no apps">
              {mayAdd
                ? 'Add the first one: its address is enough.'
                : 'The operator of this service adds the first one.'}
            </EmptyState>
          ) : (
            <EmptyState title="No app matches">Change the search or the filter.</EmptyState>
          )
        }
      />
    </>
  );
};

type DailyUsage = Outputs['usage']['dailyByApp'][number];

/** The daily actions of the listed apps, by app id: one request per page of the list. */
const useDailyUsage = (
  filter: AppsFilter,
  pages: readonly (readonly { id: string }[])[],
): Map<string, DailyUsage> =>
  useQueries({
    queries: pages.map((_page, index) =>
      trpc.usage.dailyByApp.queryOptions({
        ...conditionsOf(filter),
        window: CHART_DAYS,
        limit: PAGE_SIZE,
        cursor: pages[index - 1]?.at(-1)?.id,
      }),
    ),
    combine: (results) => new Map(results.flatMap(({ data }) => data ?? []).map((app) => [app.id, app])),
  });

const DAY_MS = 86_400_000;

/**
 * @param clients the clients that the user may see; the column is shown if there are several
 * @param listed the apps of the list; the column of versions is shown if one has a version
 */
const columnsOf = (
  clients: { id: number; name: string }[],
  daily: ReadonlyMap<string, DailyUsage>,
  listed: readonly App[],
): Column<App>[] => [
  {
    heading: 'App',
    width: 'minmax(12rem, 2fr)',
    cell: (app) => <AppLink app={app} isNew={isNew(daily.get(app.id))} />,
  },
  ...(clients.length > 1
    ? [
        {
          heading: 'Client',
          width: 'minmax(8rem, 1fr)',
          onPhone: 'half' as const,
          cell: ({ id }: App) => clients.find((client) => client.id === daily.get(id)?.client)?.name ?? '',
        },
      ]
    : []),
  ...(listed.some(versionOf)
    ? [
        {
          heading: 'Version',
          width: '6.5rem',
          onPhone: 'half' as const,
          cell: (app: App) => versionOf(app) ?? '–',
        },
      ]
    : []),
  {
    heading: 'People with access',
    width: '6.5rem',
    isNumber: true,
    onPhone: 'half',
    cell: (app) => <AccessCell app={app} />,
  },
  {
    heading: `People, ${CHART_DAYS} days`,
    width: '7rem',
    isNumber: true,
    onPhone: 'half',
    cell: ({ id }) => daily.get(id)?.users.toLocaleString(),
  },
  {
    heading: `Actions, ${CHART_DAYS} days`,
    width: '7.25rem',
    isNumber: true,
    onPhone: 'half',
    cell: ({ id }) => actionsOf(daily.get(id))?.toLocaleString(),
  },
  {
    id: 'daily',
    heading: <span className="visually-hidden">Actions by day</span>,
    width: '6.5rem',
    onPhone: 'plain-half',
    cell: ({ id }) => <Sparkline values={daily.get(id)?.daily_actions} />,
  },
  {
    heading: 'Last used',
    width: '8rem',
    onPhone: 'half',
    cell: ({ id }) => <LastUse usage={daily.get(id)} />,
  },
];

const actionsOf = (usage: DailyUsage | undefined): number | undefined =>
  usage?.daily_actions.reduce((sum, actions) => sum + actions, 0);

const LastUse = ({ usage }: { usage: DailyUsage | undefined }) => {
  if (!usage) return null;
  if (usage.is_unrecorded) return <span title={UNRECORDED}>Opened, no usage</span>;
  return usage.last_used_day ? dayText(usage.last_used_day) : 'Never';
};

/** Added within the window after which it would count as unused, and neither used nor opened. */
const isNew = (daily: DailyUsage | undefined): boolean =>
  daily !== undefined &&
  daily.last_used_day === null &&
  !daily.is_unrecorded &&
  serverNow() - daily.created_at.getTime() < UNUSED_DAYS.apps * DAY_MS;

/** The calls of all visible rows share one request. */
const AccessCell = ({ app }: { app: App }) => {
  const access = peopleWithAccess(app);
  const people = useQuery(trpc.users.count.queryOptions(access, { enabled: showsUsage(app) }));
  if (!people.data) return people.isLoading ? <Skeleton width={24} height={16} ml="auto" /> : null;
  return (
    <Link className="action-link" to="/people" search={access}>
      {people.data.count.toLocaleString()}
    </Link>
  );
};
