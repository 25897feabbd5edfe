import { Text, VisuallyHidden } from '@mantine/core';
import { IconArrowDownRight, IconArrowUpRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';

const percent = new Intl.NumberFormat(undefined, {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 0,
});

type Props = {
  /** Of whole intervals, like `before`. */
  value: number;
  before: number;
  /** Whether there is data of the whole previous period. */
  isWhole: boolean;
  /** What is compared, with the numbers. */
  title: string;
};

/**
 * `+12 %`, with what is compared as a tooltip. Renders nothing if only a part of the previous period has data. Zero is no percentage of
 * anything: the other number says more.
 */
export const Trend = ({ value, before, isWhole, title }: Props) => {
  if (value === 0 && before === 0) return null;
  if (before === 0) return <Change title={title}>none before</Change>;
  if (!isWhole) return null;
  if (value === 0) return <Change title={title}>{before.toLocaleString()} before</Change>;
  const change = Math.round((value / before - 1) * 100) / 100;
  if (change === 0) return <Change title={title}>unchanged</Change>;
  const Arrow = change < 0 ? IconArrowDownRight : IconArrowUpRight;
  return (
    <Change title={title}>
      <Arrow size={14} stroke={2} aria-hidden /> {percent.format(change)}
    </Change>
  );
};

const Change = ({ title, children }: { title: string; children: ReactNode }) => (
  <Text size="sm" c="dimmed" title={title} component="span">
    {children}
    <VisuallyHidden>, {title}</VisuallyHidden>
  </Text>
);
