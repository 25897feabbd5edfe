import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = {
  title: string;
  /** What to do about it. */
  children?: ReactNode;
};

export const EmptyState = ({ title, children }: Props) => (
  <Stack align="center" gap="xs" p="xl" ta="center">
    <Text fw={600}>{title}</Text>
    <Text c="dimmed">{children}</Text>
  </Stack>
);
