import { SegmentedControl } from '@mantine/core';
import { oneOf } from '../components/search-params.ts';
import { INTERVALS, PERIODS, type Report, type UsageFilter } from './usage-filter.ts';

type Props = { report: Report; onChange: (changes: Partial<UsageFilter>) => void };

const LABELS = { day: 'Day', week: 'Week', month: 'Month' };

/** The interval by which usage is grouped, and how far back it goes. */
export const ReportControls = ({ report: { interval, periods }, onChange }: Props) => (
  <>
    <SegmentedControl
      aria-label="Group by"
      data={INTERVALS.map((value) => ({ value, label: LABELS[value] }))}
      value={interval}
      onChange={(value) => onChange({ interval: oneOf(value, INTERVALS), periods: undefined })}
    />
    <SegmentedControl
      aria-label={`Number of ${interval}s`}
      data={PERIODS[interval].map((count) => ({ value: String(count), label: `${count} ${interval}s` }))}
      value={String(periods)}
      onChange={(value) => onChange({ periods: Number(value) })}
    />
  </>
);
