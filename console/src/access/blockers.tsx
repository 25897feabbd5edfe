import { Button, Group, List, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import type { Question } from './explain-dialog.tsx';
import { useAccessRefresh } from './use-access-refresh.ts';

type Blocker = Outputs['access']['explain']['blockers'][number];

type Props = Question & {
  blockers: readonly Blocker[];
  onGrant?: (() => void) | undefined;
  /** Opens the form of the person's data permissions. */
  onCorrect: () => void;
};

/** The reasons that keep a person out, with the changes that fix them: the user's own, or who may make them. */
export const Blockers = ({ blockers, onGrant, onCorrect, ...question }: Props) => {
  const { reactivate, fixes, isKnown } = useFixes(question, { onGrant, onCorrect });
  if (blockers.length === 0) return null;
  return (
    <Stack gap="xs">
      <ProblemAlert error={reactivate.error} />
      <List spacing="sm" listStyleType={blockers.length === 1 ? 'none' : 'disc'}>
        {blockers.map(({ code, detail, fix, fixed_by: who }) => {
          const { isAllowed, action, isSaid = false } = fixes[code];
          return (
            <List.Item key={code}>
              {detail}
              <Text size="sm" c="dimmed">
                {!(isAllowed && isSaid) && fix} {isKnown && !isAllowed && `Only ${who} may do this.`}
                {isAllowed && !action && 'You may do this.'}
              </Text>
              {isAllowed && action && <Group mt="xs">{action}</Group>}
            </List.Item>
          );
        })}
      </List>
    </Stack>
  );
};

type Fix = {
  isAllowed: boolean;
  action: ReactNode;
  /** Whether the button says the same as the service. */
  isSaid?: boolean;
};

/** For each blocker, whether the user may remove it, and how. */
const useFixes = ({ email, app }: Question, { onGrant, onCorrect }: Pick<Props, 'onGrant' | 'onCorrect'>) => {
  const { roles } = useSession();
  const { data: may } = useQuery(trpc.users.permissions.queryOptions({ email }));
  const refresh = useAccessRefresh();
  const reactivate = useMutation({
    mutationFn: async (what: 'account' | 'membership'): Promise<void> => {
      if (what === 'account') await steward.api.users.update.mutate({ email, is_active: true });
      else await steward.api.memberships.update.mutate({ id: app.client, email, is_active: true });
    },
    onSettled: refresh,
  });
  const mayUpdate = may?.can_update_apps === true;
  const buttonFor = (what: 'account' | 'membership', label: string): ReactNode => (
    <Button
      variant="default"
      size="xs"
      loading={reactivate.isPending}
      onClick={() => reactivate.mutate(what)}
    >
      {label}
    </Button>
  );
  const grant = {
    isAllowed: mayUpdate && mayDo(roles, 'manage-grants', app.client),
    action: onGrant && (
      <Button variant="default" size="xs" onClick={onGrant}>
        Grant the app
      </Button>
    ),
  };
  const fixes: Record<Blocker['code'], Fix> = {
    'user-inactive': {
      isAllowed: may?.can_update === true,
      action: buttonFor('account', 'Reactivate'),
      isSaid: true,
    },
    'member-suspended': {
      isAllowed: mayUpdate && mayDo(roles, 'manage-people', app.client),
      action: buttonFor('membership', 'Reactivate'),
      isSaid: true,
    },
    'not-granted': grant,
    'grant-expired': grant,
    'attributes-invalid': {
      isAllowed: mayUpdate && mayDo(roles, 'manage-people', app.client),
      action: (
        <Button variant="default" size="xs" onClick={onCorrect}>
          Correct the data permissions
        </Button>
      ),
    },
    'client-closed': {
      isAllowed: roles.is_superuser,
      action: (
        <Link
          className="action-link"
          to="/clients/$id"
          params={{ id: String(app.client) }}
          search={{ tab: 'close' }}
        >
          Open the client
        </Link>
      ),
    },
    'in-maintenance': {
      isAllowed: mayDo(roles, 'manage-apps', app.client),
      action: (
        <Link className="action-link" to="/apps/$id" params={{ id: app.id }}>
          Maintenance of {app.label}
        </Link>
      ),
    },
  };
  return { reactivate, fixes, isKnown: may !== undefined };
};
