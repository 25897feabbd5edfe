import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { periodLabel } from './period-label.ts';
import type { Interval } from './usage-filter.ts';
import type { UsagePeriod } from './use-report.ts';

const SERIES = [
  { name: 'actions', label: 'Actions', color: 'green' },
  /** Dashed, so that the lines differ without colors. */
  { name: 'previous_actions', label: 'Actions before', color: 'gray', strokeDasharray: '6 4' },
];
const USERS = { name: 'users', label: 'People', color: 'orange', strokeDasharray: '2 3' };

type Props = { rows: UsagePeriod[]; interval: Interval; height: number };

/** A picture of the table below it, which has the same numbers for keyboards and screen readers. */
export const ReportChart = ({ rows, interval, height }: Props) => {
  const hasUsers = rows.some(({ users }) => users !== null);
  const data = rows.toReversed().map((row) => ({
    ...row,
    label: periodLabel(interval, row.start, interval === 'week' ? row.start : row.end),
  }));
  return (
    <LineChart
      role="img"
      aria-label={`Actions by ${interval}, and in the time before. The table below has the numbers.`}
      h={height}
      // The drawing keeps its former width for a moment after the window became narrower.
      style={{ overflow: 'hidden' }}
      data={data}
      dataKey="label"
      series={hasUsers ? [...SERIES, USERS] : SERIES}
      curveType="linear"
      withDots={false}
      withLegend
      accessibilityLayer={false}
      lineProps={{ isAnimationActive: false }}
      yAxisProps={{ allowDecimals: false }}
      xAxisProps={{ minTickGap: 40 }}
      valueFormatter={(value) => value.toLocaleString()}
    />
  );
};
