import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { queryOf } from '../components/search-params.ts';
import { ReportChart } from './report-chart.tsx';
import { ReportTable } from './report-table.tsx';
import type { Report } from './usage-filter.ts';
import { useReport } from './use-report.ts';

const CHART_HEIGHT = 260;

type Props = {
  title: string;
  report: Report;
  /** Beside the title. */
  actions?: ReactNode;
};

/** A chart of usage beside the period before, and its numbers. */
export const UsageReport = ({ title, report, actions }: Props) => {
  const { data, error, isPending } = useReport(report);
  return (
    <Stack className="card" mt="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          {title}
        </Title>
        <Group>{actions}</Group>
      </Group>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={CHART_HEIGHT} />}
      {data && (
        <>
          <ReportChart rows={data} interval={report.interval} height={CHART_HEIGHT} />
          <ReportTable rows={data} interval={report.interval} />
          <Group justify="space-between" gap="xs">
            <Text size="sm" c="dimmed">
              Days are UTC days.{' '}
              {report.interval === 'day'
                ? 'Today has not ended.'
                : `A ${report.interval} that has not ended is compared with as many days.`}
            </Text>
            <CsvLink report={report} />
          </Group>
        </>
      )}
    </Stack>
  );
};

/** The numbers of the table. */
const CsvLink = ({ report }: { report: Report }) => (
  <Anchor
    size="sm"
    href={`/api/v1/jb/usage/report/?${queryOf({ ...report, format: 'csv' })}`}
    download={`usage-by-${report.interval}.csv`}
  >
    Download this table as CSV
  </Anchor>
);
