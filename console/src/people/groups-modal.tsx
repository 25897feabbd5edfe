import { Button, Group, MultiSelect, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useClientChoice } from './app-checklist.tsx';

const MAX_GROUPS = 200;

export type GroupChoice = { id: number; name: string };

type Props = {
  title: string;
  /** The label of the button. */
  label: string;
  /** The client in the filter of the list. */
  client: number | undefined;
  onSelect: (groups: GroupChoice[]) => void;
  onClose: () => void;
};

/** Chooses groups of one client. */
export const GroupsModal = ({ title, label, client: initial, onSelect, onClose }: Props) => {
  const [chosen, setChosen] = useState<string[]>([]);
  const [isOpen, opened] = useDisclosure();
  const { client, field } = useClientChoice(initial, () => setChosen([]));
  const groups = useQuery(
    trpc.groups.list.queryOptions({ id: client ?? 0, limit: MAX_GROUPS }, { enabled: client !== undefined }),
  );
  const all = groups.data ?? [];
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={groups.error} />
        {field}
        {groups.data?.length === 0 ? (
          <Text>
            This client has no groups yet.{' '}
            <Link
              className="action-link"
              style={{ textDecoration: 'underline' }}
              to="/groups"
              search={{ client }}
            >
              Create one in Groups
            </Link>
          </Text>
        ) : (
          <MultiSelect
            label="Groups"
            description="They get the apps of these groups."
            placeholder={chosen.length === 0 ? 'Choose groups' : ''}
            searchable
            data-autofocus
            nothingFoundMessage="This client has no such group."
            data={all.map(({ id, name }) => ({ value: String(id), label: name }))}
            onSearchChange={(text) => text !== '' && opened.open()}
            // Closed after each choice, because it covers the buttons below.
            dropdownOpened={isOpen}
            onDropdownOpen={opened.open}
            onDropdownClose={opened.close}
            value={chosen}
            onChange={(values) => {
              setChosen(values);
              opened.close();
            }}
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            disabled={chosen.length === 0}
            onClick={() => onSelect(all.filter(({ id }) => chosen.includes(String(id))))}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};
