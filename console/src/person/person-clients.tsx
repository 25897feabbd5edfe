import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Outputs } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { fieldLabel } from '../components/detail-words.ts';
import { StatusText } from '../components/status-text.tsx';
import { textOf, useDeclared } from '../data-permissions/declared.ts';
import { PersonDataDialog } from '../data-permissions/person-data.tsx';
import { RoleBadges } from '../roles/role-badges.tsx';
import { RolesDialog } from '../roles/roles-dialog.tsx';
import { canViewAll, mayDo, membershipRoles } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { OffboardDialog, ReactivateButton, SuspendDialog } from './lock-out.tsx';
import type { Membership, PersonState } from './person-state.ts';

type Props = {
  email: string;
  name: string;
  memberships: Membership[];
  state: PersonState;
  may: Outputs['users']['permissions'];
};

type Question = { kind: 'suspend' | 'offboard' | 'roles' | 'data'; membership: Membership };

/** The clients of a person that the user may see, and the membership in each. */
export const PersonClients = ({ email, name, memberships, state, may }: Props) => {
  const [question, setQuestion] = useState<Question | null>(null);
  const close = (): void => setQuestion(null);
  const asked = question?.membership;
  const client = { id: asked?.client ?? 0, name: asked?.client_name ?? '' };
  const dialogOf = (kind: Question['kind']) => ({
    ...{ email, name, client },
    isOpen: question?.kind === kind,
    onClose: close,
  });
  return (
    <Stack className="card" component="section" aria-labelledby="clients" gap="xs">
      <Title order={2} size="h3" id="clients">
        Clients
      </Title>
      {memberships.length === 0 && <Text c="dimmed">This person does not belong to a client.</Text>}
      <Stack component="ul" m={0} p={0} className="divided">
        {memberships.map((membership) => (
          <Group component="li" key={membership.client} justify="space-between">
            <Facts membership={membership} isInactive={state === 'inactive'} />
            <Actions
              subject={{ email, name }}
              membership={membership}
              may={may}
              isInactive={state === 'inactive'}
              isOnly={memberships.length === 1}
              onAsk={(kind) => setQuestion({ kind, membership })}
            />
          </Group>
        ))}
      </Stack>
      <SuspendDialog {...dialogOf('suspend')} clients={client.name} />
      <OffboardDialog {...dialogOf('offboard')} />
      {question?.kind === 'data' && (
        <PersonDataDialog
          email={email}
          name={name}
          client={question.membership.client}
          clientName={question.membership.client_name}
          onSaved={close}
          onClose={close}
        />
      )}
      <RolesDialog
        isOpen={question?.kind === 'roles'}
        client={client}
        holder={{ email, is_admin: false, roles: [], ...asked }}
        onClose={close}
      />
    </Stack>
  );
};

type FactsProps = { membership: Membership; isInactive: boolean };

const Facts = ({ membership, isInactive }: FactsProps) => {
  const { client, client_name, is_active, joined_at, ended_at } = membership;
  const { roles } = useSession();
  const isOpen = is_active && !isInactive;
  return (
    <Stack gap={4} flex="1 1 16rem" miw={0}>
      <Group gap="sm">
        {canViewAll(roles) || mayDo(roles, 'view', client) ? (
          <Link className="text-link" to="/clients/$id" params={{ id: String(client) }}>
            {client_name}
          </Link>
        ) : (
          <Text span fw={600}>
            {client_name}
          </Text>
        )}
        <StatusText label={isOpen ? 'Active' : 'Suspended'} color={isOpen ? 'green' : 'yellow'} />
        <RoleBadges roles={membershipRoles(membership)} />
      </Group>
      <Text size="sm" c="dimmed">
        {is_active ? 'Member since ' : 'Suspended since '}
        <DateText date={is_active ? joined_at : ended_at} />
        {!is_active && '. Apps, groups, roles and data are kept.'}
      </Text>
      <Values membership={membership} />
    </Stack>
  );
};

/** The data that the apps of the client receive. */
const Values = ({ membership: { extra, is_demo_user } }: { membership: Membership }) => {
  const values = [
    ...(is_demo_user ? [`${fieldLabel('is_demo_user')}: on`] : []),
    ...Object.entries(extra).map(([key, value]) => `${key}: ${textOf(value)}`),
  ];
  return values.length === 0 ? null : (
    <Text size="sm" c="dimmed" lineClamp={3} className="break-words">
      For the apps of this client: {values.join('; ')}
    </Text>
  );
};

type ActionsProps = {
  subject: { email: string; name: string };
  membership: Membership;
  may: Outputs['users']['permissions'];
  isInactive: boolean;
  /** Whether it is the only membership that the user sees: what is on top of the screen then does the same. */
  isOnly: boolean;
  onAsk: (kind: Question['kind']) => void;
};

/** By the rules of the service: a membership of an inactive account can be neither suspended nor reactivated. */
const Actions = ({ subject, membership, may, isInactive, isOnly, onAsk }: ActionsProps) => {
  const { client, client_name: name, is_active } = membership;
  const { roles } = useSession();
  const mayChangeData = mayDo(roles, 'manage-people', client) && may.can_update_apps;
  const { attributes } = useDeclared(mayChangeData ? client : undefined);
  const mayEnd = mayDo(roles, 'manage-people', client) && may.can_deactivate;
  return (
    <Group gap="xs">
      {mayDo(roles, 'configure', client) && may.can_set_roles && (
        <Button variant="default" size="xs" aria-label={`Roles in ${name}`} onClick={() => onAsk('roles')}>
          Roles…
        </Button>
      )}
      {attributes.length > 0 && (
        <Button
          variant="default"
          size="xs"
          aria-label={`Data permissions in ${name}`}
          onClick={() => onAsk('data')}
        >
          Data permissions…
        </Button>
      )}
      {mayEnd && !isOnly && !isInactive && !is_active && (
        <ReactivateButton {...subject} client={{ id: client, name }} size="xs" />
      )}
      {mayEnd && !isOnly && !isInactive && is_active && (
        <Button
          variant="default"
          size="xs"
          aria-label={`Suspend in ${name}`}
          onClick={() => onAsk('suspend')}
        >
          Suspend…
        </Button>
      )}
      {mayEnd && !isOnly && (
        <Button
          variant="light"
          color="red"
          size="xs"
          aria-label={`Offboard from ${name}`}
          onClick={() => onAsk('offboard')}
        >
          Offboard…
        </Button>
      )}
    </Group>
  );
};
