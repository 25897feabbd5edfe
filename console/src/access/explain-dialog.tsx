import { Button, Group, List, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { EndBadge } from '../components/end-badge.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { PersonDataForm } from '../data-permissions/person-data.tsx';
import { ValueRows } from '../data-permissions/value-rows.tsx';
import { WhatAppGets } from '../data-permissions/what-app-gets.tsx';
import { useAccessRefresh } from '../live/use-access-refresh.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import classes from './access-matrix.module.css';

type Explanation = Outputs['access']['explain'];
type Path = Explanation['paths'][number];
type Blocker = Explanation['blockers'][number];

export type Question = { email: string; name: string; app: { id: string; label: string; client: number } };

type Props = {
  /** Null: closed. */
  question: Question | null;
  onClose: () => void;
  /** Offered to users who may grant the app, if nothing gives it. */
  onGrant?: (() => void) | undefined;
};

/** Why a person may or may not open an app, as the service decides now. */
export const ExplainDialog = ({ question, onClose, onGrant }: Props) => (
  <Dialog
    isOpen={question !== null}
    onClose={onClose}
    title={question && `Can ${question.name} open ${question.app.label}?`}
  >
    {question && <Answer {...question} onGrant={onGrant} />}
  </Dialog>
);

const Answer = ({ email, name, app, onGrant }: Question & Pick<Props, 'onGrant'>) => {
  const { data, error, isPending } = useQuery(
    trpc.access.explain.queryOptions({ email, app_id: app.id }, { staleTime: 0 }),
  );
  const [isCorrecting, setCorrecting] = useState(false);
  const question = { email, name, app };
  const back = (): void => setCorrecting(false);
  if (isCorrecting) return <PersonDataForm {...question} client={app.client} onSaved={back} onClose={back} />;
  const blockers = { ...question, onGrant, onCorrect: () => setCorrecting(true) };
  return (
    <Stack>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={120} />}
      {data && (
        <>
          <div className={classes.answer}>
            {data.allowed ? (
              <StatusText label={`Yes, ${name} can open ${app.label}.`} color="green" />
            ) : (
              <StatusText label={`No, ${name} cannot open ${app.label}.`} color="red" />
            )}
          </div>
          <Blockers {...blockers} blockers={data.blockers} />
          <Paths paths={data.paths} name={name} client={app.client} isAllowed={data.allowed} />
          {data.warnings.length > 0 && (
            <Stack gap={4}>
              <Title order={3} size="h5">
                Keeps {name} out once the client enforces its data permissions
              </Title>
              <Blockers {...blockers} blockers={data.warnings} />
            </Stack>
          )}
          <Given {...question} explanation={data} />
        </>
      )}
    </Stack>
  );
};

/** The roles of the person in the app, and the data permissions that the app gets. */
const Given = ({ email, app, explanation }: Question & { explanation: Explanation }) => {
  const { app_roles: keys, data_permissions: values, blockers, warnings } = explanation;
  const isViewer = mayDo(useSession().roles, 'view', app.client);
  const roles = useDeclared(isViewer && keys.length > 0 ? app.client : undefined).roles.get(app.id) ?? [];
  const hasFaults = [...blockers, ...warnings].some(({ code }) => code === 'attributes-invalid');
  const labels = keys.map((key) => roles.find((role) => role.key === key)?.label || key);
  return (
    <>
      {keys.length > 0 && (
        <Text>
          {labels.length === 1 ? 'Role' : 'Roles'} in {app.label}: <strong>{labels.join(', ')}</strong>
        </Text>
      )}
      {isViewer && (values !== null || hasFaults) && <WhatAppGets email={email} app={app} />}
      {!isViewer && values !== null && <ValueRows values={values} />}
    </>
  );
};

type BlockersProps = Question & {
  blockers: readonly Blocker[];
  onGrant?: (() => void) | undefined;
  /** Opens the form of the person's data permissions. */
  onCorrect: () => void;
};

/** The reasons that keep a person out, with the changes that fix them: the user's own, or who may make them. */
const Blockers = ({ blockers, onGrant, onCorrect, ...question }: BlockersProps) => {
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
const useFixes = (
  { email, app }: Question,
  { onGrant, onCorrect }: Pick<BlockersProps, 'onGrant' | 'onCorrect'>,
) => {
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

type PathsProps = { paths: readonly Path[]; name: string; client: number; isAllowed: boolean };

const Paths = ({ paths, name, client, isAllowed }: PathsProps) =>
  paths.length === 0 ? null : (
    <Stack gap={4}>
      {!isAllowed && (
        <Title order={3} size="h5">
          What gives it to {name}
        </Title>
      )}
      <List spacing="xs" listStyleType={paths.length === 1 ? 'none' : 'disc'}>
        {paths.map((path) => (
          <List.Item key={`${path.kind} ${path.group?.id ?? path.role}`}>
            <Group gap="xs">
              <span>
                <Way path={path} client={client} />
              </span>
              <EndBadge date={path.expires_at} />
            </Group>
            <Facts path={path} />
          </List.Item>
        ))}
      </List>
      {paths.length > 1 && (
        <Text size="sm" c="dimmed">
          Any one of these is enough. To take the app away, end all of them.
        </Text>
      )}
    </Stack>
  );

const ROLES: Record<string, string> = {
  superuser: 'As a superuser, who opens all apps',
  staff: 'As staff, who open all apps',
  'client-admin': 'As an admin of the client, who opens all of its apps',
};

const Way = ({ path: { role, group }, client }: { path: Path; client: number }) => {
  if (group)
    return (
      <>
        Through the group{' '}
        <Link
          className="text-link"
          to="/groups/$client/$group"
          params={{ client: String(client), group: String(group.id) }}
        >
          {group.name}
        </Link>
      </>
    );
  return role === null ? 'Granted directly' : (ROLES[role] ?? role);
};

const Facts = ({ path: { kind, since, granted_by: by, reason } }: { path: Path }) => {
  if (kind === 'role') return null;
  return (
    <Text size="sm" c="dimmed" className="break-words">
      {since ? (
        <>
          Since <DateText date={since} />
        </>
      ) : (
        'Since when is not recorded'
      )}
      {by && `, by ${by}`}
      {reason !== '' && `: “${reason}”`}
    </Text>
  );
};
