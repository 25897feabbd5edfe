import { Badge } from '@mantine/core';

type Props = { label: string; color: 'gray' | 'green' | 'yellow' | 'red' };

/** The text says it already; the color helps when scanning a list. */
export const StatusBadge = ({ label, color }: Props) => (
  <Badge
    variant="default"
    tt="none"
    leftSection={<span className="dot" style={{ background: `var(--mantine-color-${color}-6)` }} />}
  >
    {label}
  </Badge>
);
