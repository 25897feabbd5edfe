import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { CallFromCode } from '../code/call-from-code.tsx';
import type { Procedure } from '../code/calls-of.ts';

type Props = {
  title: string;
  /** One line below the title. */
  lead?: ReactNode;
  /** Buttons at the right. */
  actions?: ReactNode;
  /** The procedures whose results the screen shows. */
  procedures?: readonly Procedure[];
};

/** The heading of a screen, which is also the title of the tab. */
export const ScreenHeader = ({ title, lead, actions, procedures = [] }: Props) => {
  useDocumentTitle(`${title} – Steward`);
  return (
    <Group justify="space-between" align="center" mb="md">
      <Stack gap={2}>
        <Title order={1}>{title}</Title>
        {lead !== undefined && <Text c="dimmed">{lead}</Text>}
      </Stack>
      <Group gap="sm">
        {procedures.length > 0 && <CallFromCode procedures={procedures} />}
        {actions}
      </Group>
    </Group>
  );
};
