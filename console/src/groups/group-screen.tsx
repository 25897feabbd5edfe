import { Button, Group, List, Menu, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EndChoice, endOf, NO_END } from '../components/end-choice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { AppsModal } from '../people/apps-modal.tsx';
import { BulkResults } from '../people/bulk-results.tsx';
import { useBulkUpdate } from '../people/use-bulk-update.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { GroupData } from './group-data.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupMembers } from './group-members.tsx';

const route = getRouteApi('/groups/$client/$group');

type GroupScreenData = Outputs['groups']['screen'];

const GRANT_HINT = 'Only for the current members.';

/** A team: its apps and members. */
export const GroupScreen = () => {
  const params = route.useParams();
  const ids = { id: Number(params.client), group_id: Number(params.group) };
  const group = useSuspenseQuery(trpc.groups.screen.queryOptions(ids)).data;
  const clientName = useClientName();
  const mayChange = mayDo(useSession().roles, 'manage-people', group.client);
  const [isGranting, granting] = useDisclosure();
  const [isRemoving, removing] = useDisclosure();
  const bulk = useBulkUpdate();
  const remove = useRemoval(group.client);
  const emails = group.members.map(({ email }) => email);
  return (
    <>
      <ScreenHeader
        title={group.name}
        lead={
          <>
            Group of{' '}
            <Link className="action-link" to="/groups" search={{ client: group.client }}>
              {clientName(group.client)}
            </Link>
          </>
        }
        menu={
          mayChange && (
            <Menu.Item color="red" onClick={removing.open}>
              Remove group
            </Menu.Item>
          )
        }
      />
      <ProblemAlert error={bulk.error ?? remove.error} />
      {bulk.data && <BulkResults outcome={bulk.data} people={group.members} onClose={bulk.reset} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} style={{ alignItems: 'start' }}>
        <Stack>
          <GroupForm key={`form of ${group.id}`} group={group} isReadOnly={!mayChange} />
          <GroupData key={`data of ${group.id}`} group={group} isReadOnly={!mayChange} />
        </Stack>
        <GroupMembers key={`members of ${group.id}`} group={group} isReadOnly={!mayChange}>
          {mayChange && emails.length > 0 && (
            <Group gap="sm">
              <Button variant="default" loading={bulk.isPending} onClick={granting.open}>
                Grant apps until…
              </Button>
              <Text size="sm" c="dimmed" flex="1 1 12rem">
                {GRANT_HINT}
              </Text>
            </Group>
          )}
        </GroupMembers>
      </SimpleGrid>
      {isGranting && (
        <GrantModal
          group={group}
          onClose={granting.close}
          onGrant={(apps, expires_at) => {
            granting.close();
            const change = { action: 'grant-apps' as const, apps, expires_at };
            bulk.mutate({ selected: new Set(emails), filter: {}, change });
          }}
        />
      )}
      <RemoveGroupModal
        group={group}
        isOpen={isRemoving}
        onConfirm={() => remove.mutate(ids)}
        onClose={removing.close}
      />
    </>
  );
};

type GrantProps = {
  group: GroupScreenData;
  onGrant: (apps: string[], end: Date | null) => void;
  onClose: () => void;
};

/** Grants apps that the group does not give to all present members of the group. */
const GrantModal = ({ group: { client, name, apps }, onGrant, onClose }: GrantProps) => {
  const [until, setUntil] = useState({ ...NO_END, choice: 'In 2 weeks' });
  const end = endOf(until);
  return (
    <AppsModal
      title={`Grant apps to the members of ${name}`}
      label="Grant"
      client={client}
      isOfClient
      without={apps}
      isComplete={end !== undefined}
      onSelect={(ids) => end !== undefined && onGrant(ids, end)}
      onClose={onClose}
    >
      <EndChoice label="Until" value={until} onChange={setUntil} />
    </AppsModal>
  );
};

const useRemoval = (client: number) => {
  const refresh = useAccessRefresh();
  const navigate = useNavigate();
  return useMutation(
    trpc.groups.remove.mutationOptions({
      onSuccess: async () => {
        // First, because the group can no longer be read.
        await navigate({ to: '/groups', search: { client } });
        await refresh();
        notify('Group removed.');
      },
    }),
  );
};

type RemoveProps = {
  group: GroupScreenData;
  isOpen: boolean;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before a group is removed, and shows who would lose which apps. */
const RemoveGroupModal = ({ group, isOpen, onConfirm, onClose }: RemoveProps) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={`Remove the group ${group.name}?`}>
    <Stack>
      <Losses losses={group.losses} />
      <Text>People keep their accounts, their own apps and their other groups.</Text>
      <DialogButtons
        action="Remove group"
        isDanger
        onAction={() => {
          onClose();
          onConfirm();
        }}
        onClose={onClose}
      />
    </Stack>
  </Dialog>
);

const Losses = ({ losses }: Pick<GroupScreenData, 'losses'>) => {
  const appLabels = useAppLabels();
  if (losses.length === 0)
    return <Text>No one loses an app. All members have these apps in other ways, too.</Text>;
  return (
    <div>
      <Text>These apps close at once for those who have them only through this group:</Text>
      <List>
        {losses.map(({ app, people }) => (
          <List.Item key={app}>
            {appLabels.get(app) ?? app}: {people === 1 ? '1 person' : `${people.toLocaleString()} people`}
          </List.Item>
        ))}
      </List>
    </div>
  );
};
