import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';

type Props = {
  title: string;
  /** One line below the title. */
  lead?: ReactNode;
  /** Buttons at the right. */
  actions?: ReactNode;
};

/** The heading of a screen, which is also the title of the tab. */
export const ScreenHeader = ({ title, lead, actions }: Props) => {
  useDocumentTitle(`${title} – Steward`);
  return (
    <Group justify="space-between" align="flex-end" mb="lg">
      <Stack gap={4}>
        <Title order={1}>{title}</Title>
        {lead !== undefined && <Text c="dimmed">{lead}</Text>}
      </Stack>
      {actions !== undefined && <Group>{actions}</Group>}
    </Group>
  );
};
