import { Text, VisuallyHidden } from '@mantine/core';
import { IconArrowDownRight, IconArrowUpRight } from '@tabler/icons-react';

const percent = new Intl.NumberFormat(undefined, {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 0,
});

type Props = {
  value: number;
  before: number;
  /** Whether there is data of the whole previous period. */
  isWhole: boolean;
  /** The previous number and its period. */
  title: string;
};

/** `+12 %`, with the previous number as a tooltip. Renders nothing if only a part of the previous period has data. */
export const Trend = ({ value, before, isWhole, title }: Props) => {
  if (before === 0)
    return value === 0 ? null : (
      <Text size="sm" c="dimmed" title={title}>
        none before
      </Text>
    );
  if (!isWhole) return null;
  const Arrow = value < before ? IconArrowDownRight : IconArrowUpRight;
  return (
    <Text size="sm" c="dimmed" title={title} component="span">
      {value !== before && <Arrow size={14} stroke={2} aria-hidden />}{' '}
      {value === before ? 'unchanged' : percent.format(value / before - 1)}
      <VisuallyHidden> against {title}</VisuallyHidden>
    </Text>
  );
};
