import { Code, Group, List, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { EndBadge } from '../components/end-badge.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { PersonDataForm } from '../data-permissions/person-data.tsx';
import { WhatAppGets } from '../data-permissions/what-app-gets.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { Blockers } from './blockers.tsx';
import classes from './explain-dialog.module.css';

type Explanation = Outputs['access']['explain'];
type Path = Explanation['paths'][number];

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
      {!isViewer && values !== null && <Code block>{JSON.stringify(values, null, 2)}</Code>}
    </>
  );
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
          Each of these is enough. To take the app away, end all of them.
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
