import { Group, Skeleton, Stack, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ReportTable } from '../usage/report-table.tsx';
import { reportOf } from '../usage/usage-filter.ts';
import { useReport } from '../usage/use-report.ts';
import { LineChart } from './line-chart.tsx';

/** Of all apps whose usage the user may see. */
const LAST_DAYS = reportOf({ interval: 'day', periods: 30 });

const HEIGHT = 160;

/** The chart is drawn here, because the library of charts is half as large as this screen. */
export const RecentUsage = () => {
  const { data, error, isPending } = useReport(LAST_DAYS);
  return (
    <Stack className="card" mt="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          Usage of the last 30 days
        </Title>
        <Link className="action-link" to="/usage">
          All usage
        </Link>
      </Group>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={HEIGHT} />}
      {data && (
        <>
          <LineChart points={data.toReversed()} height={HEIGHT} />
          <ReportTable rows={data} interval={LAST_DAYS.interval} />
        </>
      )}
    </Stack>
  );
};
