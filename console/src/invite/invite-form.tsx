import { Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSuspenseQuery } from '@tanstack/react-query';
import { type RefObject, useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { shortList } from '../components/short-list.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { personWith } from '../session/roles.ts';
import { AddNotice } from './add-notice.tsx';
import { AddPeople } from './add-people.tsx';
import type { AppOption } from './app-choice.tsx';
import { InviteGrid } from './invite-grid.tsx';
import type { InviteRow } from './invite-rows.ts';
import { SendBar } from './send-bar.tsx';
import { optionTexts, SharedAccessForm } from './shared-access-form.tsx';
import { appsOf, hasFieldErrors, type OnSent, type SharedAccess, useInviteList } from './use-invite-list.ts';

type Props = {
  client: number;
  /** The app that is chosen at first. */
  app: string | undefined;
  kept: readonly InviteRow[];
  /** The field of addresses. */
  addresses: RefObject<HTMLTextAreaElement | null>;
  onSent: OnSent;
};

/**
 * Who is invited, and to what. Typed addresses are sent as they are. Files, several addresses on request, and people with errors become a
 * list. Once a file is loaded, the form above collapses to make room for the list.
 */
export const InviteForm = ({ client, app, kept, addresses, onSent }: Props) => {
  const apps = useSuspenseQuery(trpc.clients.apps.queryOptions({ id: client })).data;
  const chosen = apps.flatMap(({ id }) => (id === app ? [id] : []));
  const list = useInviteList({ client, apps: chosen, kept, onSent });
  const { rows, people, outcome, error } = list;
  useUnsavedWork(people.length > 0);
  const [fileProblem, setFileProblem] = useState<string | null>(null);
  const [isFolded, folding] = useDisclosure(kept.length > 0);
  const openFile = useRef<() => void>(null);
  const top = useRef<HTMLDivElement>(null);
  return (
    <>
      {isFolded && rows.length > 0 && (
        <Folded
          client={client}
          apps={apps}
          rows={rows}
          access={list.access}
          onChange={folding.close}
          onFile={() => openFile.current?.()}
        />
      )}
      <div hidden={isFolded && rows.length > 0}>
        <Stack component="section" className="card" mb="md" aria-label="Who and what">
          <AddPeople
            field={addresses}
            text={list.text}
            onText={list.setText}
            isSending={list.isSending}
            apps={apps}
            onFile={(file) => {
              setFileProblem(null);
              list.addFile(file);
              folding.open();
              top.current?.scrollIntoView({ block: 'start' });
            }}
            problem={fileProblem}
            onProblem={(problem) => {
              setFileProblem(problem);
              folding.close();
            }}
            openFile={openFile}
          />
          <SharedAccessForm client={client} apps={apps} access={list.access} onChange={list.changeAccess} />
        </Stack>
      </div>
      <SendBar
        ref={top}
        list={list}
        onClear={() => {
          setFileProblem(null);
          list.clear();
        }}
      />
      {/* Errors of fields are shown in the rows, and disappear with them. */}
      {error && !hasFieldErrors(error) && <ProblemAlert error={error} />}
      {outcome && <AddNotice outcome={outcome} onKeep={list.keepRemoved} onClose={list.closeOutcome} />}
      {list.prompt}
      {rows.length > 0 && <InviteGrid rows={rows} apps={apps} access={list.access} onChange={list.change} />}
    </>
  );
};

const MAX_NAMED = 3;

type FoldedProps = {
  client: number;
  apps: readonly AppOption[];
  rows: readonly InviteRow[];
  access: SharedAccess;
  onChange: () => void;
  onFile: () => void;
};

/** The collapsed form in one line: `Acme · Sales, Churn · until 3 Dec 2026`. */
const Folded = ({ client, apps, rows, access, onChange, onFile }: FoldedProps) => {
  const nameOfClient = useClientName();
  const chosen = new Set(rows.flatMap((row) => appsOf(row, access)));
  const labels = apps.filter(({ id }) => chosen.has(id)).map(({ label }) => label);
  const parts = [
    nameOfClient(client),
    labels.length === 0 ? 'No apps' : shortList(labels, MAX_NAMED),
    ...(access.role === '' ? [] : [`as ${personWith([access.role])}`]),
    ...optionTexts(access),
  ];
  return (
    <Group className="card" py="xs" mb="md" justify="space-between" gap="xs">
      <Text size="sm">{parts.join(' · ')}</Text>
      <Group gap="xs">
        <Button variant="default" size="compact-sm" onClick={onFile}>
          Load another file
        </Button>
        <Button variant="default" size="compact-sm" onClick={onChange}>
          Change
        </Button>
      </Group>
    </Group>
  );
};
