import '@mantine/charts/styles.css';
import { AreaChart } from '@mantine/charts';
import { dayText } from '../components/date-text.tsx';
import type { UsageDay } from './usage-by-day.tsx';

const ACTIONS = { name: 'actions', label: 'Actions', color: 'green' };
/** Dashed, so that the lines differ without colors. */
const USERS = { name: 'users', label: 'People', color: 'orange', strokeDasharray: '6 4' };

type Props = { days: UsageDay[]; hasUsers: boolean };

/** A picture of the table below it, which has the same numbers for keyboards and screen readers. */
export const UsageChart = ({ days, hasUsers }: Props) => (
  <AreaChart
    role="img"
    aria-label={`${hasUsers ? 'Actions and people' : 'Actions'} per day. The table below has the numbers.`}
    h={260}
    // The drawing keeps its former width for a moment after the window became narrower.
    style={{ overflow: 'hidden' }}
    data={days.map((row) => ({ ...row, day: dayText(row.day) }))}
    dataKey="day"
    series={hasUsers ? [ACTIONS, USERS] : [ACTIONS]}
    curveType="linear"
    withDots={false}
    withLegend
    accessibilityLayer={false}
    areaProps={{ isAnimationActive: false }}
    yAxisProps={{ allowDecimals: false }}
    xAxisProps={{ minTickGap: 40 }}
    valueFormatter={(value) => value.toLocaleString()}
  />
);
