import { Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { Trend } from '../charts/trend.tsx';
import { previousActions, useReport } from '../usage/usage-data.ts';
import { comparisonText, isWholePeriod, reportOf } from '../usage/usage-filter.ts';

/** The report of all apps of a client, or of all whose usage the user may see. */
export const lastDaysOf = (client: number | undefined) => reportOf({ client });

/** Usage in the last four weeks. Percentages compare them with the four weeks before, without today. */
export const Figures = ({ client }: { client: number | undefined }) => {
  const { data } = useQuery(trpc.usage.summary.queryOptions({ client, window: CHART_DAYS }));
  const report = lastDaysOf(client);
  const isWhole = isWholePeriod(previousActions(useReport(report).data ?? []), report.interval);
  const figures = [
    {
      label: 'Actions',
      total: data?.actions,
      value: data?.full_actions,
      before: data?.previous_full_actions,
    },
    {
      label: 'Active people',
      total: data?.users,
      value: data?.full_users,
      before: data?.previous_full_users,
    },
    {
      label: 'Apps in use',
      total: data?.used_apps,
      value: data?.full_used_apps,
      before: data?.previous_full_used_apps,
    },
  ];
  return (
    <SimpleGrid
      component="dl"
      m={0}
      type="container"
      cols={{ base: 1, '20rem': 3 }}
      spacing={{ base: 'xs', '36rem': 'md' }}
    >
      {figures.map((figure) => (
        <Figure key={figure.label} {...figure} isWhole={isWhole} />
      ))}
    </SimpleGrid>
  );
};

type FigureProps = {
  label: string;
  /** With today. */
  total: number | undefined;
  /** Of the full days, like `before`. */
  value: number | undefined;
  before: number | undefined;
  isWhole: boolean;
};

const Figure = ({ label, total, value, before, isWhole }: FigureProps) => (
  <div className="card">
    <Text component="dt" fz={{ base: 'xs', xs: 'sm' }} c="dimmed" className="nowrap">
      {label}
    </Text>
    {total === undefined || value === undefined || before === undefined ? (
      <Skeleton component="dd" height={34} width={120} m={0} mt={4} />
    ) : (
      <Group component="dd" m={0} gap="xs" align="baseline">
        <Text component="span" className="figure">
          {total.toLocaleString()}
        </Text>
        <Trend
          value={value}
          before={before}
          isWhole={isWhole}
          title={comparisonText(lastDaysOf(undefined), { value, before })}
        />
      </Group>
    )}
  </div>
);
