import { Button, Collapse, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconTable } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** The numbers of a chart, behind a button: for screen readers, keyboards and copies. */
export const ChartTable = ({ children }: { children: ReactNode }) => {
  const [isOpen, { toggle }] = useDisclosure();
  return (
    <Stack gap="sm" align="stretch">
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<IconTable size={16} stroke={1.75} aria-hidden />}
        aria-expanded={isOpen}
        onClick={toggle}
        mr="auto"
      >
        {isOpen ? 'Hide the table' : 'Show as a table'}
      </Button>
      <Collapse expanded={isOpen} keepMounted={false}>
        {isOpen && children}
      </Collapse>
    </Stack>
  );
};
