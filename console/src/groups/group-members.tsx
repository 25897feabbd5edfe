import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import type { Column } from '../components/column.ts';
import { joined } from '../components/form-fields.ts';
import { PersonInput } from '../components/person-input.tsx';
import { PersonCell } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { REMOVE_COLUMN, RemoveButton } from '../components/remove-button.tsx';
import { shortList } from '../components/short-list.ts';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { VirtualTable } from '../components/virtual-table.tsx';
import { parseAddresses } from '../invite/parse-addresses.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

type GroupScreenData = Outputs['groups']['screen'];
type Member = GroupScreenData['members'][number];
type Props = {
  group: GroupScreenData;
  isReadOnly: boolean;
  /** The actions for all members. */
  children: ReactNode;
};

/** The members of the group. Each change is saved at once, a removal after a question. */
export const GroupMembers = ({ group, isReadOnly, children }: Props) => {
  const { members } = group;
  const [text, setText] = useState('');
  const [toRemove, setToRemove] = useState<Member | null>(null);
  const edit = useMemberEdit(() => setText(''));
  const removal = useMemberEdit(() => setToRemove(null));
  const ids = { id: group.client, group_id: group.id };
  const add = (addresses: string[]): void => {
    if (addresses.length > 0) edit.mutate({ ...ids, added_members: addresses });
  };
  const fault = joined(fieldErrors(edit.error)).added_members ?? joined(fieldErrors(edit.error)).members;
  return (
    <Stack className="card" component="section" aria-labelledby="members">
      <Title order={2} size="h3" id="members">
        Members {members.length > 0 && <span className="numbers">{members.length.toLocaleString()}</span>}
      </Title>
      {fault === undefined && <ProblemAlert error={edit.error} />}
      {!isReadOnly && (
        <form
          aria-label="Add members"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            add(parseAddresses(text));
          }}
        >
          <Group align="flex-start" gap="xs">
            <PersonInput
              aria-label="Add people"
              placeholder="Name, or email addresses"
              flex="1 1 10rem"
              among={{ client: group.client }}
              without={new Set(members.map(({ email }) => email))}
              value={text}
              onChange={setText}
              onOptionSubmit={(email) => add([email])}
              error={fault}
            />
            <Button type="submit" variant="default" loading={edit.isPending} disabled={text.trim() === ''}>
              Add
            </Button>
          </Group>
        </form>
      )}
      {members.length === 0 ? (
        <Text c="dimmed">No one belongs to this group yet.</Text>
      ) : (
        <VirtualTable
          label="Members"
          columns={columnsOf(
            isReadOnly
              ? null
              : (member) => {
                  removal.reset();
                  setToRemove(member);
                },
          )}
          rows={members}
          keyOf={({ email }) => email}
          hasMore={false}
          onMore={() => {}}
        />
      )}
      {children}
      <ActionDialog
        isOpen={toRemove !== null}
        title={`Remove ${toRemove?.email ?? ''} from ${group.name}?`}
        action="Remove"
        run={() => toRemove && removal.mutate({ ...ids, removed_members: [toRemove.email] })}
        state={removal}
        onClose={() => setToRemove(null)}
      >
        They lose the apps, data permissions and roles in apps that only this group gives them.
      </ActionDialog>
    </Stack>
  );
};

const useMemberEdit = (onDone: () => void) => {
  const refresh = useAccessRefresh();
  return useMutation(
    trpc.groups.edit.mutationOptions({
      onSuccess: async (_group, { added_members: added = [], removed_members: removed = [] }) => {
        onDone();
        await refresh();
        const names = shortList(added.length > 0 ? added : removed, 2);
        notify(`${added.length > 0 ? 'Added' : 'Removed'} ${names}.`);
      },
    }),
  );
};

/** @param remove null for users who may not remove members */
const columnsOf = (remove: ((member: Member) => void) | null): Column<Member>[] => [
  {
    heading: 'Person',
    width: 'minmax(10rem, 1fr)',
    cell: (member) => (
      <PersonCell person={member}>
        {!member.is_active && <StatusText label="Suspended" color="yellow" />}
      </PersonCell>
    ),
  },
  ...(remove
    ? [
        {
          ...REMOVE_COLUMN,
          cell: (member: Member) => (
            <RemoveButton label={`Remove ${member.email}`} onClick={() => remove(member)} />
          ),
        },
      ]
    : []),
];
