import { Group, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { Trend } from '../charts/trend.tsx';
import { previousActions, useReport } from '../usage/usage-data.ts';
import { isWholePeriod, reportOf } from '../usage/usage-filter.ts';

/** The report of all apps of a client, or of all whose usage the user may see. */
export const lastDaysOf = (client: number | undefined) => reportOf({ client });

/** Whole weeks, so that the same weekdays are compared. */
export const COMPARED_DAYS = lastDaysOf(undefined).periods;

/** Usage in the last four weeks, compared with the four weeks before. */
export const Figures = ({ client }: { client: number | undefined }) => {
  const { data } = useQuery(trpc.usage.summary.queryOptions({ client, window: COMPARED_DAYS }));
  const report = lastDaysOf(client);
  const isWhole = isWholePeriod(previousActions(useReport(report).data ?? []), report.interval);
  const figures = [
    { label: 'Actions', value: data?.actions, before: data?.previous_actions },
    { label: 'Active people', value: data?.users, before: data?.previous_users },
    { label: 'Apps in use', value: data?.used_apps, before: data?.previous_used_apps },
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
  value: number | undefined;
  before: number | undefined;
  isWhole: boolean;
};

const Figure = ({ label, value, before, isWhole }: FigureProps) => (
  <div className="card">
    <Text component="dt" fz={{ base: 'xs', xs: 'sm' }} c="dimmed" className="nowrap">
      {label}
    </Text>
    {value === undefined || before === undefined ? (
      <Skeleton component="dd" height={34} width={120} m={0} mt={4} />
    ) : (
      <Group component="dd" m={0} gap="xs" align="baseline">
        <Text component="span" className="figure">
          {value.toLocaleString()}
        </Text>
        <Trend
          value={value}
          before={before}
          isWhole={isWhole}
          title={`${before.toLocaleString()} in the ${COMPARED_DAYS} days before`}
        />
      </Group>
    )}
  </div>
);
