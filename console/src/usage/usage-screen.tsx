import { SimpleGrid } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { ReportControls } from './report-controls.tsx';
import { TopApps } from './top-apps.tsx';
import { TopStacks, TopUsers } from './top-lists.tsx';
import { UsageEntries } from './usage-entries.tsx';
import { reportOf, type UsageFilter } from './usage-filter.ts';
import { UsageFilters } from './usage-filters.tsx';
import { UsageReport } from './usage-report.tsx';
import { type UsagePeriod, useReport } from './use-report.ts';

const route = getRouteApi('/usage');

/** Usage of all apps, or of a client, an app, a stack or a person. The choice is part of the address. */
export const UsageScreen = () => {
  const filter = route.useSearch();
  const { client, app, email } = filter;
  const navigate = route.useNavigate();
  const change = (changes: Partial<UsageFilter>): void => {
    void navigate({ search: { ...filter, ...changes }, replace: true, resetScroll: false });
  };
  const report = reportOf(filter);
  const days = daysOf(useReport(report).data ?? []);
  return (
    <>
      <ScreenHeader
        title="Usage"
        lead="Actions of people in apps, compared with the period before."
        actions={
          <HeaderLink to="/idle" search={{ client }}>
            Inactive people and apps
          </HeaderLink>
        }
      />
      <UsageFilters filter={filter} onChange={change} />
      <UsageReport
        title={`Usage by ${report.interval}`}
        report={report}
        hasTotal
        actions={<ReportControls report={report} onChange={change} />}
      />
      {app === undefined
        ? email === undefined && <TopApps client={client} days={days} onApp={(id) => change({ app: id })} />
        : days > 0 && (
            <>
              <SimpleGrid cols={{ base: 1, md: 2 }} mt="md">
                <TopUsers appId={app} days={days} />
                <TopStacks appId={app} days={days} />
              </SimpleGrid>
              <UsageEntries appId={app} email={email} days={days} />
            </>
          )}
    </>
  );
};

const DAY_MS = 24 * 3600 * 1000;

/** The number of days in a report, until today; 0 while it is loading. */
const daysOf = (rows: UsagePeriod[]): number => {
  const [newest, oldest] = [rows[0], rows.at(-1)];
  return newest && oldest ? (Date.parse(newest.end) - Date.parse(oldest.start)) / DAY_MS + 1 : 0;
};
