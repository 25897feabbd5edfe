import { SegmentedControl, Select } from '@mantine/core';
import { useState } from 'react';
import { oneOf } from '../components/search-params.ts';
import { type ChartProps, type Measure, UsageChart } from './usage-chart.tsx';
import { useReport } from './usage-data.ts';
import { PERIODS, type Period } from './usage-filter.ts';

const MEASURES: { value: Measure; label: string }[] = [
  { value: 'actions', label: 'Actions' },
  { value: 'users', label: 'People' },
];

/** A chart of usage with a choice between actions and people, of one app: people of several apps cannot be added up. */
export const UsageReport = (props: Omit<ChartProps, 'measure' | 'choice'>) => {
  const rows = useReport(props.report).data;
  const [chosen, choose] = useState<Measure>('actions');
  const hasUsers = rows?.some(({ users }) => users !== null) ?? false;
  if (!hasUsers) return <UsageChart {...props} />;
  return (
    <UsageChart
      {...props}
      measure={chosen}
      choice={
        <SegmentedControl
          aria-label="Drawn"
          size="xs"
          mr="auto"
          data={MEASURES}
          value={chosen}
          onChange={choose}
        />
      }
    />
  );
};

const DEFAULT = PERIODS[0].value;

type ChoiceProps = { period: Period | undefined; onChange: (period: Period | undefined) => void };

/** How far back a chart goes. The same choices on all screens. */
export const PeriodChoice = ({ period = DEFAULT, onChange }: ChoiceProps) => {
  const choose = (value: string | null): void => {
    const chosen = oneOf(
      value,
      PERIODS.map((one) => one.value),
    );
    onChange(chosen === DEFAULT ? undefined : chosen);
  };
  const data = PERIODS.map(({ value, label }) => ({ value, label }));
  return (
    <>
      <SegmentedControl
        visibleFrom="md"
        size="xs"
        aria-label="Period"
        data={data}
        value={period}
        onChange={choose}
      />
      <Select
        hiddenFrom="md"
        size="xs"
        w="8rem"
        aria-label="Period"
        allowDeselect={false}
        data={data}
        value={period}
        onChange={choose}
      />
    </>
  );
};
