import { Button, Checkbox, ScrollArea, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

/** More apps than fit into the window get a search. */
const MAX_WITHOUT_SEARCH = 10;

type Props = {
  title: string;
  /** Of the button. */
  label: string;
  /** Offers the apps of this client only. */
  client?: number | undefined;
  /** Ids of apps that are not offered. */
  without?: readonly string[];
  /** Ids that are selected at first. */
  initial?: readonly string[];
  /** Fields below the apps. */
  children?: ReactNode;
  /** Whether these fields can be sent. */
  isComplete?: boolean;
  isSending?: boolean;
  error?: unknown;
  /** @param apps ids */
  onSelect: (apps: string[]) => void;
  onClose: () => void;
};

const NONE: readonly string[] = [];

export const AppsModal = ({ title, label, children, onSelect, onClose, ...props }: Props) => {
  const { without = NONE, initial = NONE, isComplete = true, isSending = false } = props;
  const apps = useQuery(trpc.apps.list.queryOptions({ client: props.client }));
  const [selected, setSelected] = useState<string[]>([...initial]);
  const [search, setSearch] = useState('');
  const all = (apps.data ?? []).filter(({ id }) => !without.includes(id));
  const chosen = all.flatMap(({ id }) => (selected.includes(id) ? id : []));
  const shown = all.filter((app) => app.label.toLowerCase().includes(search.trim().toLowerCase()));
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={apps.error ?? props.error} />
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
        {children}
        <Button
          disabled={chosen.length === 0 || !isComplete}
          loading={isSending}
          onClick={() => onSelect(chosen)}
        >
          {label}
        </Button>
      </Stack>
    </Dialog>
  );
};
