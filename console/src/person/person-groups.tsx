import { Group, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { nameOf } from '../components/name-of.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RemoveButton } from '../components/remove-button.tsx';
import { notify } from '../components/toasts.ts';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import type { PersonAccess, PersonGroup } from './use-person-access.ts';
import type { Person } from './use-person-form.ts';

const listOf = new Intl.ListFormat('en');

type Props = { person: Person; access: PersonAccess };

/** The teams that the person belongs to. Admins of the client add and remove them. */
export const PersonGroups = ({ person, access: { apps, groups } }: Props) => {
  const { roles } = useSession();
  const name = nameOf(person);
  const [toLeave, setToLeave] = useState<PersonGroup | null>(null);
  const { email } = person;
  const edit = useGroupEdit();
  const nameOfGroup = useGroupName(groups);
  const joined = groups.filter(({ is_member }) => is_member);
  const others = groups.filter((group) => !group.is_member && mayDo(roles, 'manage-people', group.client));
  const labelOf = (id: string): string => apps.find((app) => app.id === id)?.label ?? id;
  const lost = toLeave ? apps.filter((app) => isOnlyBy(app, toLeave)) : [];
  return (
    <Stack className="card" component="section" aria-labelledby="groups" gap="xs">
      <Title order={2} size="h3" id="groups">
        Groups
      </Title>
      <ProblemAlert error={edit.error} />
      {joined.length === 0 && <Text c="dimmed">Belongs to no group.</Text>}
      {joined.length > 0 && (
        <Stack component="ul" m={0} p={0} className="divided" gap="sm">
          {joined.map((group) => (
            <Group component="li" key={group.id} justify="space-between" gap="xs">
              <Stack gap={0} flex="1 1 12rem" miw={0}>
                <Link className="text-link" to="/groups/$client/$group" params={paramsOf(group)}>
                  {nameOfGroup(group)}
                </Link>
                <Text size="sm" c="dimmed">
                  {group.apps.length === 0
                    ? 'Gives no apps'
                    : `Gives ${listOf.format(group.apps.map(labelOf))}`}
                </Text>
              </Stack>
              {mayDo(roles, 'manage-people', group.client) && (
                <RemoveButton label={`Remove from ${group.name}`} onClick={() => setToLeave(group)} />
              )}
            </Group>
          ))}
        </Stack>
      )}
      {others.length > 0 && (
        <Select
          aria-label="Add to a group"
          placeholder="Add to a group"
          searchable
          // Chosen groups disappear from the list.
          value={null}
          disabled={edit.isPending}
          data={others.map((group) => ({ value: String(group.id), label: nameOfGroup(group) }))}
          onChange={(id) => {
            const group = others.find((other) => String(other.id) === id);
            if (group) edit.mutate({ id: group.client, group_id: group.id, added_members: [email] });
          }}
        />
      )}
      <ConfirmModal
        isOpen={toLeave !== null}
        title={`Remove ${name} from ${toLeave?.name ?? ''}?`}
        action="Remove"
        onConfirm={() =>
          toLeave && edit.mutate({ id: toLeave.client, group_id: toLeave.id, removed_members: [email] })
        }
        onClose={() => setToLeave(null)}
      >
        <Text>
          {lost.length === 0
            ? 'They keep all their apps.'
            : `They lose ${listOf.format(lost.map(({ label }) => label))}, which only this group gives them.`}
        </Text>
      </ConfirmModal>
    </Stack>
  );
};

const paramsOf = ({ client, id }: PersonGroup) => ({ client: String(client), group: String(id) });

const isOnlyBy = ({ grant, role, groups }: PersonAccess['apps'][number], { id }: PersonGroup): boolean =>
  groups.includes(id) && groups.length === 1 && grant === null && role === null;

/** With the client, if the person has groups of several clients. */
const useGroupName = (groups: readonly PersonGroup[]): ((group: PersonGroup) => string) => {
  const clientName = useClientName();
  const hasSeveral = new Set(groups.map(({ client }) => client)).size > 1;
  return ({ name, client }) => (hasSeveral ? `${name} (${clientName(client)})` : name);
};

const useGroupEdit = () => {
  const refresh = useAccessRefresh();
  return useMutation(
    trpc.groups.edit.mutationOptions({
      onSuccess: async ({ name }, { added_members: added = [] }) => {
        await refresh();
        notify(`${added.length > 0 ? 'Added to' : 'Removed from'} ${name}.`);
      },
    }),
  );
};
