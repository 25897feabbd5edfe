import { Box, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useClientChoice } from '../session/client-choice.ts';
import { DebouncedInput, type SearchProps } from './debounced-input.tsx';
import classes from './filter-chip.module.css';
import { FixedChip } from './filter-chip.tsx';

type Props = {
  /** The menu of saved views. */
  views?: ReactNode;
  search?: SearchProps;
  children: ReactNode;
};

/** The filter of a list: its views, its search, and its chips, which scroll sideways on phones. */
export const FilterBar = ({ views, search, children }: Props) => (
  <Group mb="sm" gap="xs">
    {views}
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
