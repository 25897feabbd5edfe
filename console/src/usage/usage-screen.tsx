import { Anchor, Group, SimpleGrid } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { TopStacks, TopUsers } from './top-lists.tsx';
import { UsageByDay } from './usage-by-day.tsx';
import { UsageEntries } from './usage-entries.tsx';
import { USAGE_WINDOWS, type UsageFilter } from './usage-filter.ts';
import { UsageFilters } from './usage-filters.tsx';

const route = getRouteApi('/usage');

/** Usage of an app, of a person, or of a person in an app. The choice is part of the address. */
export const UsageScreen = () => {
  const filter = route.useSearch();
  const { app, email, days = USAGE_WINDOWS[0] } = filter;
  const navigate = route.useNavigate();
  const change = (changes: Partial<UsageFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true, resetScroll: false });
  };
  return (
    <>
      <ScreenHeader
        title="Usage"
        procedures={
          app !== undefined || email !== undefined ? ['usage.series', 'usage.top', 'usage.list'] : []
        }
      />
      <Group>
        <UsageFilters filter={filter} onChange={change} />
      </Group>
      {app === undefined && email === undefined ? (
        <EmptyState title="Nothing is chosen yet">Choose an app, a person, or both.</EmptyState>
      ) : (
        <UsageByDay
          subject={{ app_id: app, email }}
          days={days}
          windows={USAGE_WINDOWS}
          onDays={(window) => change({ days: window })}
          actions={app !== undefined && <CsvLink appId={app} email={email} days={days} />}
        />
      )}
      {app !== undefined && (
        <>
          <SimpleGrid cols={{ base: 1, md: 2 }} mt="md">
            <TopUsers appId={app} days={days} />
            <TopStacks appId={app} days={days} />
          </SimpleGrid>
          <UsageEntries appId={app} email={email} />
        </>
      )}
    </>
  );
};

type CsvProps = { appId: string; email: string | undefined; days: number };

/** All entries of these days. */
const CsvLink = ({ appId, email, days }: CsvProps) => {
  const path =
    email === undefined
      ? `apps/${encodeURIComponent(appId)}/usage/`
      : `users/${encodeURIComponent(email)}/usage/${encodeURIComponent(appId)}/`;
  return (
    <Anchor href={`/api/v1/jb/${path}?window=${days}&format=csv`} download="usage.csv">
      Download CSV
    </Anchor>
  );
};
