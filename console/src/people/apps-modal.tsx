import { Button, Checkbox, ScrollArea, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

/** More apps than fit into the window get a search. */
const MAX_WITHOUT_SEARCH = 10;

type Props = {
  title: string;
  /** Of the button. */
  label: string;
  /** @param apps ids */
  onSelect: (apps: string[]) => void;
  onClose: () => void;
};

export const AppsModal = ({ title, label, onSelect, onClose }: Props) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  const [selected, setSelected] = useState<string[]>([]);
  const [search, setSearch] = useState('');
  const all = apps.data ?? [];
  const shown = all.filter((app) => app.label.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={apps.error} />
        {apps.isPending && <Skeleton height={100} />}
        {all.length > MAX_WITHOUT_SEARCH && (
          <TextInput
            type="search"
            aria-label="Search apps"
            placeholder="Search apps"
            data-autofocus
            value={search}
            onChange={({ currentTarget: { value } }) => setSearch(value)}
          />
        )}
        {apps.isSuccess && shown.length === 0 && <Text c="dimmed">No app matches.</Text>}
        <ScrollArea.Autosize mah="50vh">
          <Checkbox.Group aria-label="Apps" value={selected} onChange={setSelected}>
            <Stack gap="xs" p={4}>
              {shown.map((app) => (
                <Checkbox key={app.id} value={app.id} label={app.label} />
              ))}
            </Stack>
          </Checkbox.Group>
        </ScrollArea.Autosize>
        <Button disabled={selected.length === 0} onClick={() => onSelect(selected)}>
          {label}
        </Button>
      </Stack>
    </Dialog>
  );
};
