import { Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { useAccessRefresh } from '../access/use-access-refresh.ts';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { fieldLabel, valueText } from '../components/detail-words.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { useForget } from '../components/use-forget.ts';
import { useDeclared } from '../data-permissions/declared.ts';
import { PersonDataDialog } from '../data-permissions/person-data.tsx';
import { canViewAll, mayDo, membershipRoles } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { RoleBadges } from '../roles/role-badges.tsx';
import { RolesDialog } from '../roles/roles-dialog.tsx';
import type { Membership, PersonState } from './person-state.ts';
import { RemoveMemberModal } from './remove-member-modal.tsx';
import { SuspendModal } from './suspend-modal.tsx';

type Props = {
  email: string;
  name: string;
  memberships: Membership[];
  state: PersonState;
  may: Outputs['users']['permissions'];
};

type Question = { kind: 'suspend' | 'remove' | 'roles' | 'data'; membership: Membership };

/** The clients of a person that the user may see, and the membership in each. */
export const PersonClients = ({ email, name, memberships, state, may }: Props) => {
  const [question, setQuestion] = useState<Question | null>(null);
  const close = (): void => setQuestion(null);
  const { update, finishRemoval } = useChanges(email, memberships);
  const asked = question?.membership;
  return (
    <Stack className="card" component="section" aria-labelledby="clients" gap="xs">
      <Title order={2} size="h3" id="clients">
        Clients
      </Title>
      <ProblemAlert error={update.error} />
      {memberships.length === 0 && <Text c="dimmed">This person belongs to no client.</Text>}
      <Stack component="ul" m={0} p={0} className="divided">
        {memberships.map((membership) => (
          <Group component="li" key={membership.client} justify="space-between">
            <Facts membership={membership} isInactive={state === 'inactive'} />
            <Actions
              membership={membership}
              may={may}
              isInactive={state === 'inactive'}
              onReactivate={() => update.mutate({ id: membership.client, email, is_active: true })}
              onAsk={(kind) => setQuestion({ kind, membership })}
            />
          </Group>
        ))}
      </Stack>
      <SuspendModal
        isOpen={question?.kind === 'suspend'}
        email={email}
        clients={asked?.client_name ?? ''}
        onConfirm={() => asked && update.mutate({ id: asked.client, email, is_active: false })}
        onClose={close}
      />
      <RemoveMemberModal
        email={email}
        membership={question?.kind === 'remove' ? question.membership : null}
        onRemoved={finishRemoval}
        onClose={close}
      />
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
        client={{ id: asked?.client ?? 0, name: asked?.client_name ?? '' }}
        holder={{ email, is_admin: false, roles: [], ...asked }}
        onClose={close}
      />
    </Stack>
  );
};

const useChanges = (email: string, memberships: Membership[]) => {
  const { roles } = useSession();
  const navigate = useNavigate();
  const refresh = useAccessRefresh();
  const forget = useForget();
  const update = useMutation(
    trpc.memberships.update.mutationOptions({
      onSuccess: async ({ client_name, is_active }) => {
        await refresh();
        const message = is_active
          ? `Reactivated in ${client_name}. Grant the apps again.`
          : `Suspended in ${client_name}.`;
        notify(message);
      },
    }),
  );
  const finishRemoval = async ({ client, client_name }: Membership): Promise<void> => {
    const others = memberships.filter((other) => other.client !== client);
    const staysVisible = canViewAll(roles) || others.some((other) => mayDo(roles, 'view', other.client));
    await (staysVisible ? refresh() : forget());
    // If the user no longer sees the person, nothing about the person can be read.
    if (!staysVisible) await navigate({ to: '/people', search: {} });
    notify(`${email} no longer belongs to ${client_name}.`);
  };
  return { update, finishRemoval };
};

const COLORS = { Active: 'green', Inactive: 'gray', Suspended: 'yellow' } as const;

type FactsProps = { membership: Membership; isInactive: boolean };

const Facts = ({ membership, isInactive }: FactsProps) => {
  const { client, client_name, is_active, joined_at, ended_at } = membership;
  const { roles } = useSession();
  const word = is_active ? (isInactive ? 'Inactive' : 'Active') : 'Suspended';
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
        <StatusText label={word} color={COLORS[word]} />
        <RoleBadges roles={membershipRoles(membership)} />
      </Group>
      <Text size="sm" c="dimmed">
        {is_active ? 'Member since ' : 'Suspended since '}
        <DateText date={is_active ? joined_at : ended_at} />
      </Text>
      <Values membership={membership} />
    </Stack>
  );
};

const NO_APPS: ReadonlyMap<string, string> = new Map();

/** The data that the apps of the client receive. */
const Values = ({ membership: { extra, is_demo_user } }: { membership: Membership }) => {
  const values = Object.entries({
    ...(is_demo_user && { is_demo_user }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
  return values.length === 0 ? null : (
    <Text size="sm" c="dimmed" lineClamp={3} className="break-words">
      For the apps of this client:{' '}
      {values.map(([field, value], index) => (
        <Fragment key={field}>
          {index > 0 && '; '}
          {fieldLabel(field)}:{' '}
          {typeof value === 'object' ? <Code>{JSON.stringify(value)}</Code> : valueText(value, NO_APPS)}
        </Fragment>
      ))}
    </Text>
  );
};

type ActionsProps = {
  membership: Membership;
  may: Outputs['users']['permissions'];
  isInactive: boolean;
  onReactivate: () => void;
  onAsk: (kind: Question['kind']) => void;
};

/** By the rules of the service: a membership of an inactive account can be neither suspended nor reactivated. */
const Actions = ({ membership, may, isInactive, onReactivate, onAsk }: ActionsProps) => {
  const { client, client_name: name, is_active, is_admin } = membership;
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
      {mayEnd && may.can_update_apps && !isInactive && (
        <Button
          variant="default"
          size="xs"
          aria-label={`${is_active ? 'Suspend' : 'Reactivate'} in ${name}`}
          onClick={() => (is_active ? onAsk('suspend') : onReactivate())}
        >
          {is_active ? 'Suspend' : 'Reactivate'}
        </Button>
      )}
      {mayEnd && (!is_admin || roles.is_superuser) && (
        <Button
          variant="light"
          color="red"
          size="xs"
          aria-label={`Remove from ${name}`}
          onClick={() => onAsk('remove')}
        >
          Remove
        </Button>
      )}
    </Group>
  );
};
