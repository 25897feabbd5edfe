import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { AppChecklist, useClientChoice } from './app-checklist.tsx';

type Props = {
  title: string;
  /** The label of the button. */
  label: string;
  /** The client whose apps are offered first. Superusers, and admins of several clients, may choose another one. */
  client: number | undefined;
  /** Whether the client is fixed. */
  isOfClient?: boolean;
  /** Ids of apps that are not offered. */
  without?: readonly string[];
  /** Ids that are initially selected. */
  initial?: readonly string[];
  /** Fields below the apps. */
  children?: ReactNode;
  /** Fields for the chosen apps. */
  fieldsOf?: (apps: readonly string[], client: number) => ReactNode;
  /** Whether these fields can be sent. */
  isComplete?: boolean;
  isSending?: boolean;
  error?: unknown;
  /** @param apps ids */
  onSelect: (apps: string[]) => void;
  onClose: () => void;
};

/** Chooses apps of one client. */
export const AppsModal = ({ title, label, without, children, onSelect, onClose, ...props }: Props) => {
  const { initial = [], isComplete = true, isSending = false } = props;
  const [chosen, setChosen] = useState<string[]>([...initial]);
  const { client, field } = useClientChoice(props.client, () => setChosen([]));
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <Stack>
        <ProblemAlert error={props.error} />
        {!props.isOfClient && field}
        {client !== undefined && (
          <AppChecklist key={client} client={client} without={without} value={chosen} onChange={setChosen} />
        )}
        {children}
        {client !== undefined && props.fieldsOf?.(chosen, client)}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            disabled={chosen.length === 0 || !isComplete}
            loading={isSending}
            onClick={() => onSelect(chosen)}
          >
            {label}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};
