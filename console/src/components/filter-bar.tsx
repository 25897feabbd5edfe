import { Box, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useClientChoice } from '../layout/client-choice.ts';
import { DebouncedInput, type SearchProps } from './debounced-input.tsx';
import classes from './filter-chip.module.css';
import { FixedChip } from './filter-chip.tsx';

/** The filter of a list: its search, and its chips, which scroll sideways on phones. */
export const FilterBar = ({ search, children }: { search?: SearchProps; children: ReactNode }) => (
  <Group mb="sm" gap="xs">
    {search && <DebouncedInput {...search} />}
    <fieldset className={classes.chips} aria-label="Filters">
      <ClientChip />
      {children}
    </fieldset>
  </Group>
);

/** For phones, on which the choice of the client is hidden. */
const ClientChip = () => {
  const { client, hasAll, choose } = useClientChoice();
  if (!client || !hasAll) return null;
  return (
    <Box hiddenFrom="sm">
      <FixedChip label="Client" onClear={() => choose(undefined)}>
        Client: {client.name}
      </FixedChip>
    </Box>
  );
};
