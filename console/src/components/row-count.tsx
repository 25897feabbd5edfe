import { Skeleton, Text, VisuallyHidden } from '@mantine/core';

type Props = { total: number | undefined; one: string; many: string };

/** The number of matching rows, next to the title of a screen. Screen readers read `308 people`. */
export const RowCount = ({ total, one, many }: Props) => (
  <Text component="span" c="dimmed" fz="1.375rem" fw={500} className="numbers" aria-live="polite">
    {total === undefined ? (
      <Skeleton component="span" display="inline-block" width={32} height={14} />
    ) : (
      <>
        {total.toLocaleString()}
        <VisuallyHidden> {total === 1 ? one : many}</VisuallyHidden>
      </>
    )}
  </Text>
);
