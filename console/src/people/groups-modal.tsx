import { Button, MultiSelect, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { administers } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';

const MAX_GROUPS = 200;

type Props = {
  title: string;
  /** Of the button. */
  label: string;
  /** The client that the people are filtered by. */
  client: number | undefined;
  /** @param groups ids */
  onSelect: (groups: number[]) => void;
  onClose: () => void;
};

/** Chooses groups of one client. */
export const GroupsModal = ({ title, label, client: initial, onSelect, onClose }: Props) => {
  const { roles } = useSession();
  const clients = useClients().filter(({ id }) => administers(roles, id));
  const [client, setClient] = useState(initial ?? clients[0]?.id);
  const [chosen, setChosen] = useState<string[]>([]);
  const groups = useQuery(
    trpc.groups.list.queryOptions({ id: client ?? 0, limit: MAX_GROUPS }, { enabled: client !== undefined }),
  );
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={groups.error} />
        {clients.length > 1 && (
          <Select
            label="Client"
            searchable
            allowDeselect={false}
            data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
            value={String(client)}
            onChange={(id) => {
              setClient(Number(id));
              setChosen([]);
            }}
          />
        )}
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
        <Button disabled={chosen.length === 0} onClick={() => onSelect(chosen.map(Number))}>
          {label}
        </Button>
      </Stack>
    </Dialog>
  );
};
