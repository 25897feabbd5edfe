import { Checkbox, ScrollArea, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useClients } from '../components/client-select.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

/** With more apps than fit into the window, there is a search. */
const MAX_WITHOUT_SEARCH = 10;

const NONE: readonly string[] = [];

type Props = {
  client: number;
  /** Ids of apps that are not offered. */
  without?: readonly string[] | undefined;
  label?: string;
  description?: string;
  value: string[];
  /** @param apps ids */
  onChange: (apps: string[]) => void;
};

/** Chooses apps of a client. */
export const AppChecklist = (props: Props) => {
  const { client, without = NONE, label = 'Apps', description, value, onChange } = props;
  const apps = useQuery(trpc.apps.list.queryOptions({ client }));
  const [search, setSearch] = useState('');
  const all = (apps.data ?? []).filter(({ id }) => !without.includes(id));
  const shown = all.filter((app) => app.label.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <>
      <ProblemAlert error={apps.error} />
      {apps.isPending && <Skeleton height={100} />}
      {all.length > MAX_WITHOUT_SEARCH && (
        <TextInput
          type="search"
          aria-label="Search apps"
          placeholder="Search apps"
          data-autofocus
          value={search}
          onChange={({ currentTarget: { value: text } }) => setSearch(text)}
        />
      )}
      {apps.isSuccess && shown.length === 0 && (
        <Text c="dimmed">{search === '' ? 'There are no apps to choose.' : 'No app matches.'}</Text>
      )}
      <ScrollArea.Autosize mah="40vh">
        <Checkbox.Group
          label={label}
          {...(description !== undefined && { description })}
          value={value}
          onChange={onChange}
        >
          {/* Room for the focus ring, which the scroll area would clip. */}
          <Stack gap="xs" pt={6} pb={4} pl={1}>
            {shown.map((app) => (
              <Checkbox key={app.id} value={app.id} label={app.label} />
            ))}
          </Stack>
        </Checkbox.Group>
      </ScrollArea.Autosize>
    </>
  );
};

/** The client whose apps are offered, and the choice of another one among those that the user administers. */
export const useClientChoice = (initial: number | undefined, onChoose: () => void) => {
  const { roles } = useSession();
  const clients = useClients().filter(({ id }) => mayDo(roles, 'manage-grants', id));
  const [client, setClient] = useState(clients.find(({ id }) => id === initial)?.id ?? clients[0]?.id);
  const field = clients.length > 1 && (
    <Select
      label="Client"
      searchable
      allowDeselect={false}
      data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
      value={String(client)}
      onChange={(id) => {
        setClient(Number(id));
        onChoose();
      }}
    />
  );
  return { client, field };
};
