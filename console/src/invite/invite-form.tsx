import { Alert, Button, Group, MultiSelect, Select, SimpleGrid, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { type ReactNode, type Ref, useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { dateOf } from '../components/date-text.tsx';
import { capitalized } from '../components/detail-words.ts';
import { EndChoice, endOf } from '../components/end-choice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { shortList } from '../components/short-list.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { AttributeFields } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { roleSentence } from '../roles/role-words.ts';
import { CLIENT_ROLES, personWith, refusalOf, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { AddNotice } from './add-notice.tsx';
import { AddPeople } from './add-people.tsx';
import type { AppOption } from './app-choice.tsx';
import { InviteGrid } from './invite-grid.tsx';
import { changed, hasErrors, type InviteRow } from './invite-rows.ts';
import {
  hasFieldErrors,
  isComplete,
  MAX_ROWS,
  type OnSent,
  peopleOf,
  type SharedAccess,
  useInviteList,
} from './use-invite-list.ts';

type Props = {
  client: number;
  /** The app that is chosen at first. */
  app: string | undefined;
  kept: readonly InviteRow[];
  onSent: OnSent;
};

/**
 * The list of people to invite. People with errors stay in it. Once a file is loaded, the form above collapses to make room for the rows.
 */
export const InviteForm = ({ client, app, kept, onSent }: Props) => {
  const apps = useSuspenseQuery(trpc.clients.apps.queryOptions({ id: client })).data;
  const [defaults, setDefaults] = useState<Pick<InviteRow, 'apps' | 'isDemo'>>({
    apps: apps.flatMap(({ id }) => (id === app ? [id] : [])),
    isDemo: false,
  });
  const list = useInviteList(client, kept, onSent);
  const { rows, change, outcome } = list;
  useUnsavedWork(rows.length > 0);
  const [fileProblem, setFileProblem] = useState<string | null>(null);
  const [isFolded, folding] = useDisclosure(kept.length > 0);
  const openFile = useRef<() => void>(null);
  const top = useRef<HTMLDivElement>(null);
  /** The rows are below the form. */
  const check = (unchecked: readonly InviteRow[]): void => {
    list.checkAll(unchecked);
    top.current?.scrollIntoView({ block: 'start' });
  };
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
        <AddPeople
          apps={apps}
          defaults={defaults}
          onDefaults={setDefaults}
          onAdd={(added) => list.add(added, [])}
          onFile={(file) => {
            setFileProblem(null);
            check(list.add(file.rows, file.ignored));
            folding.open();
          }}
          problem={fileProblem}
          onProblem={(problem) => {
            setFileProblem(problem);
            folding.close();
          }}
          openFile={openFile}
          listed={rows.length}
          onApply={() => change((current) => current.map((row) => changed(row, defaults)))}
        />
        <SharedAccessForm client={client} access={list.access} onChange={list.changeAccess} />
      </div>
      <ListBar
        ref={top}
        list={list}
        onCheck={() => check(rows)}
        onClear={() => {
          setFileProblem(null);
          list.clear();
        }}
      />
      <ListStatus rows={rows} hasUnchecked={list.hasUnchecked} error={list.error} />
      {outcome && <AddNotice outcome={outcome} onKeep={list.keepRemoved} onClose={list.closeOutcome} />}
      {list.prompt}
      {rows.length > 0 && <InviteGrid rows={rows} apps={apps} onChange={change} />}
    </>
  );
};

type BarProps = {
  ref: Ref<HTMLDivElement>;
  list: ReturnType<typeof useInviteList>;
  onCheck: () => void;
  onClear: () => void;
};

/** The number of people in the list, and the actions for all of them. */
const ListBar = ({ ref, list, onCheck, onClear }: BarProps) => {
  const { rows } = list;
  const [isClearing, clearing] = useDisclosure();
  const faulty = rows.filter(hasErrors).length;
  const ready = rows.length - faulty;
  const isBlocked = rows.length === 0 || rows.length > MAX_ROWS || !isComplete(list.access);
  return (
    <Group ref={ref} className="scroll-target" justify="space-between" mb="sm">
      <Title order={2} size="h3">
        {rows.length === 0 ? 'The list is empty' : peopleOf(rows.length)}
      </Title>
      <Group>
        {rows.length > 0 && (
          <Button variant="subtle" onClick={clearing.open}>
            Remove all
          </Button>
        )}
        <Button variant="default" disabled={isBlocked} loading={list.isChecking} onClick={onCheck}>
          Check only
        </Button>
        <Button
          disabled={isBlocked || list.hasUnchecked || ready === 0}
          loading={list.isSending}
          onClick={list.submit}
        >
          {faulty > 0 && ready > 0 ? `Send ${ready}, keep ${faulty}` : sendLabel(rows.length)}
        </Button>
      </Group>
      <ConfirmModal
        isOpen={isClearing}
        title={`Remove ${peopleOf(rows.length)} from the list?`}
        action="Remove all"
        onConfirm={onClear}
        onClose={clearing.close}
      >
        You lose your corrections in the list.
      </ConfirmModal>
    </Group>
  );
};

const sendLabel = (count: number): string => {
  if (count === 0) return 'Send invitations';
  return count === 1 ? 'Send 1 invitation' : `Send ${count} invitations`;
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
  const chosen = new Set(rows.flatMap((row) => row.apps));
  const labels = apps.filter(({ id }) => chosen.has(id)).map(({ label }) => label);
  const end = endOf(access.end);
  const parts = [
    nameOfClient(client),
    labels.length === 0 ? 'No apps' : shortList(labels, MAX_NAMED),
    ...(access.groups.length > 0
      ? [access.groups.length === 1 ? '1 group' : `${access.groups.length} groups`]
      : []),
    ...(end ? [`until ${dateOf(end)}`] : []),
    ...(access.role === '' ? [] : [`as ${personWith([access.role])}`]),
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

type ListStatusProps = { rows: readonly InviteRow[]; hasUnchecked: boolean; error: unknown };

/** Whether the list can be sent. Always one line, so that the rows below do not move while someone types. */
const ListStatus = ({ rows, hasUnchecked, error }: ListStatusProps) => {
  const faulty = rows.filter(hasErrors).length;
  const surplus = rows.length - MAX_ROWS;
  if (surplus > 0)
    return <Line color="red">{`At most ${MAX_ROWS} people can be invited at once. Remove ${surplus}.`}</Line>;
  if (faulty > 0)
    return (
      <Line color="red">
        {faulty === 1 ? '1 row has errors and stays' : `${faulty} rows have errors and stay`} in the list when
        you send the others.
      </Line>
    );
  // Errors of fields are shown in the rows, and disappear with them.
  if (error && !hasFieldErrors(error)) return <ProblemAlert error={error} />;
  if (rows.length === 0) return null;
  return hasUnchecked ? (
    <Line color="gray">Checking the list…</Line>
  ) : (
    <Line color="green">All of them can be invited.</Line>
  );
};

const Line = ({ color, children }: { color: 'red' | 'gray' | 'green'; children: ReactNode }) => (
  <Alert color={color} variant="light" role={color === 'red' ? 'alert' : 'status'} mb="md">
    {children}
  </Alert>
);

const MAX_GROUPS = 200;

type SharedAccessFormProps = {
  client: number;
  access: SharedAccess;
  onChange: (changes: Partial<SharedAccess>) => void;
};

/** The groups that all people of the list join, and the end of their access to the chosen apps. */
const SharedAccessForm = ({ client, access, onChange }: SharedAccessFormProps) => {
  const groups = useQuery(trpc.groups.list.queryOptions({ id: client, limit: MAX_GROUPS }));
  const { attributes } = useDeclared(client);
  const own = useSession().roles;
  const roles = CLIENT_ROLES.filter((role) => refusalOf(own, role, client) === null);
  const role = roles.find(({ name }) => name === access.role);
  return (
    <SimpleGrid
      component="section"
      aria-label="For everyone in the list"
      className="card"
      cols={{ base: 1, sm: 2 }}
      mb="md"
    >
      <MultiSelect
        label="Groups for everyone in the list"
        description="They join these groups when they accept."
        placeholder={access.groups.length === 0 ? 'None' : ''}
        searchable
        clearable
        data={(groups.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
        value={access.groups}
        onChange={(chosen) => onChange({ groups: chosen })}
      />
      <div>
        <EndChoice label="Apps until" value={access.end} onChange={(end) => onChange({ end })} />
        <Text size="xs" c="dimmed">
          Apps of groups do not end.
        </Text>
      </div>
      {roles.length > 0 && (
        <Select
          label="Role for everyone in the list"
          description={role ? roleSentence(role) : 'Members open their apps.'}
          allowDeselect={false}
          data={[
            { value: '', label: 'Member' },
            ...roles.map((one) => ({ value: one.name, label: capitalized(roleLabel(one)) })),
          ]}
          value={access.role}
          onChange={(name) => onChange({ role: roles.find((one) => one.name === name)?.name ?? '' })}
        />
      )}
      {attributes.length > 0 && (
        <AttributeFields
          attributes={attributes}
          label="Data permissions for everyone in the list"
          value={access.extra}
          onChange={(extra) => onChange({ extra })}
        />
      )}
    </SimpleGrid>
  );
};
