import { Button, Group, MultiSelect, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useClientChoice } from './app-checklist.tsx';

const MAX_GROUPS = 200;

type Props = {
  title: string;
  /** The label of the button. */
  label: string;
  /** The client in the filter of the list. */
  client: number | undefined;
  /** @param groups ids */
  onSelect: (groups: number[]) => void;
  onClose: () => void;
};

/** Chooses groups of one client. */
export const GroupsModal = ({ title, label, client: initial, onSelect, onClose }: Props) => {
  const [chosen, setChosen] = useState<string[]>([]);
  const { client, field } = useClientChoice(initial, () => setChosen([]));
  const groups = useQuery(
    trpc.groups.list.queryOptions({ id: client ?? 0, limit: MAX_GROUPS }, { enabled: client !== undefined }),
  );
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={groups.error} />
        {field}
        <MultiSelect
          label="Groups"
          description="They get the apps of these groups."
          placeholder={chosen.length === 0 ? 'Choose groups' : ''}
          searchable
          data-autofocus
          nothingFoundMessage="This client has no such group."
          data={(groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
          value={chosen}
          onChange={setChosen}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button disabled={chosen.length === 0} onClick={() => onSelect(chosen.map(Number))}>
            {label}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};
