import { Avatar, Box, Button, Card, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDisclosure, useDocumentTitle } from '@mantine/hooks';
import { IconEye } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { type Outputs, steward, trpc } from '../api.ts';
import { avatarOf } from '../components/avatar-of.ts';
import { capitalized } from '../components/capitalized.ts';
import { shortDateOf } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { FactList } from '../components/fact-list.tsx';
import { useFocusedHeading } from '../components/focused-heading.ts';
import { nameOf } from '../components/name-of.ts';
import { PendingAddress } from '../components/pending-address.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { StatusText } from '../components/status-text.tsx';
import { useAskedDialog } from '../components/use-asked-dialog.ts';
import { canView, canViewAll, mayDo, membershipRoles, roleLabel } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { OffboardDialog, ReactivateButton, SuspendDialog } from './lock-out.tsx';
import classes from './person.module.css';
import { PersonMenu } from './person-menu.tsx';
import { clientNames, type PersonState } from './person-state.ts';
import { RunningLooks } from './running-looks.tsx';
import type { PersonData } from './use-person.ts';

/** The name of the person, their state, and the actions for them. */
export const PersonHead = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const { person, screen, may } = data;
  const { roles, user } = useSession();
  const name = nameOf(person);
  const isSelf = user.email === person.email;
  const mayChangeAddress = !isSelf && (roles.is_superuser ? may.can_revoke : may.can_update);
  const heading = useFocusedHeading();
  useDocumentTitle(`${name} – Steward`);
  const isActive = state === 'active';
  const pending = screen.account?.pending_email;
  return (
    <Stack gap="md" mb="xs">
      <Group justify="space-between" align="flex-start" gap="md">
        <Group gap="md" wrap="nowrap" align="flex-start" flex="1 1 18rem" miw={0}>
          <Avatar src={avatarOf(person)} alt="" size={52} />
          <Stack gap={2} miw={0}>
            <Group gap="xs">
              <Title order={1} ref={heading} tabIndex={-1} className="screen-title break-words">
                {name}
              </Title>
              <StatusText label={isActive ? 'Active' : 'Suspended'} color={isActive ? 'green' : 'yellow'} />
            </Group>
            <Text c="dimmed" className="break-words">
              {person.email}
            </Text>
          </Stack>
        </Group>
        <Group gap="sm">
          {may.can_deactivate && (
            <HomePreview
              email={person.email}
              firstName={person.first_name}
              name={name}
              label={`See as ${person.first_name || 'them'}`}
              icon={<IconEye size={16} stroke={1.6} aria-hidden />}
            />
          )}
          {may.can_deactivate && <LockOut data={data} state={state} name={name} />}
          <PersonMenu
            person={person}
            may={may}
            isSelf={isSelf}
            mayChangeAddress={mayChangeAddress}
            isActive={state !== 'inactive'}
          />
        </Group>
      </Group>
      {pending && (
        <PendingAddress
          email={person.email}
          pending={pending}
          cancel={
            mayChangeAddress
              ? () => steward.api.users.cancelEmailChange.mutate({ email: person.email })
              : null
          }
        />
      )}
      {canView(roles) && <RunningLooks email={person.email} />}
      <PersonFacts data={data} />
    </Stack>
  );
};

type LockOutProps = { data: PersonData; state: PersonState; name: string };

/** Suspends or reactivates the person, or ends all that they have. */
const LockOut = ({ data: { person, may, memberships }, state, name }: LockOutProps) => {
  const { roles } = useSession();
  const [isSuspending, suspending] = useDisclosure();
  const [isOffboarding, offboarding] = useDisclosure();
  const subject = { email: person.email, name };
  const managed = memberships.filter(({ client }) => mayDo(roles, 'manage-people', client));
  const [only] = managed.length === 1 ? managed : [];
  // The account is active, but not the membership. Several are reactivated one by one.
  const client = state === 'suspended' && only ? { id: only.client, name: only.client_name } : undefined;
  const mayReactivate = state === 'suspended' ? client !== undefined || may.is_shared : !may.is_shared;
  useAskedDialog({ suspend: state === 'active' && suspending.open, offboard: offboarding.open });
  return (
    <>
      {state === 'active' ? (
        <Button variant="default" onClick={suspending.open}>
          Suspend…
        </Button>
      ) : (
        mayReactivate && <ReactivateButton {...subject} client={client} />
      )}
      <Button variant="light" color="red" onClick={offboarding.open}>
        Offboard…
      </Button>
      <SuspendDialog
        {...subject}
        clients={may.is_shared ? clientNames(managed) : null}
        isOpen={isSuspending}
        onClose={suspending.close}
      />
      <OffboardDialog {...subject} isOpen={isOffboarding} onClose={offboarding.close} />
    </>
  );
};

type Props = { email: string; firstName: string; name: string; label: string; icon: ReactNode };

/** Shows an admin the home page of a person. The audit trail records each look. */
const HomePreview = ({ email, firstName, name, label, icon }: Props) => {
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="default" leftSection={icon} onClick={open}>
        {label}
      </Button>
      <Dialog isOpen={isOpen} onClose={close} size="lg" title={`What ${name} sees after login`}>
        {isOpen && <Preview email={email} firstName={firstName} />}
      </Dialog>
    </>
  );
};

const Preview = ({ email, firstName }: Pick<Props, 'email' | 'firstName'>) => {
  const preview = useQuery(trpc.users.preview.queryOptions({ email }, { gcTime: 0, staleTime: Infinity }));
  return (
    <>
      <ProblemAlert error={preview.error} />
      {preview.isPending && <Skeleton height={160} />}
      {preview.data && <Home email={email} firstName={firstName} home={preview.data} />}
      <Text size="sm" c="dimmed" mt="md">
        Apps of other clients are not shown. The audit trail records that you looked.
      </Text>
    </>
  );
};

type HomeProps = Pick<Props, 'email' | 'firstName'> & { home: Outputs['users']['preview'] };

const Home = ({ email, firstName, home: { is_active, apps } }: HomeProps) => {
  if (!is_active) return <Text>The account is inactive: this person cannot log in.</Text>;
  return (
    <Box bg="var(--mantine-color-body)" p="md" bdrs="md" bd="1px solid var(--console-line)">
      <Title order={3} size="h2">
        {`Hello ${firstName}`.trim()}
      </Title>
      <Text c="dimmed">You are logged in as {email}.</Text>
      <Title order={4} size="h3" mt="md" mb="sm">
        Your apps
      </Title>
      {apps.length === 0 && <Text>You have no apps yet.</Text>}
      <SimpleGrid component="ul" className="plain-list" cols={{ base: 1, xs: 2 }}>
        {apps.map(({ id, label, description, in_maintenance }) => (
          <Card key={id} component="li" withBorder>
            <Group justify="space-between">
              <Text fw={600}>{label}</Text>
              {in_maintenance && <StatusText label="In maintenance" color="yellow" />}
            </Group>
            <Text c="dimmed" size="sm">
              {description}
            </Text>
          </Card>
        ))}
      </SimpleGrid>
    </Box>
  );
};

const SHOWN = 2;

/** The facts about a person that users need most often. */
const PersonFacts = ({ data }: { data: PersonData }) => {
  const { person, memberships, access, screen } = data;
  const { roles } = useSession();
  const clients = memberships.map(({ client, client_name: name }) => ({
    id: client,
    name:
      canViewAll(roles) || mayDo(roles, 'view', client) ? (
        <Link to="/clients/$id" params={{ id: String(client) }}>
          {name}
        </Link>
      ) : (
        name
      ),
  }));
  const groups = access.groups.flatMap(({ id, client, name, is_member }) =>
    is_member
      ? {
          id,
          name: (
            <Link to="/groups/$client/$group" params={{ client: String(client), group: String(id) }}>
              {name}
            </Link>
          ),
        }
      : [],
  );
  const facts: [label: string, value: ReactNode][] = [
    [clients.length === 1 ? 'Client' : 'Clients', <Names key="clients" items={clients} />],
    ['Groups', <Names key="groups" items={groups} />],
    ['Role', roleOf(data)],
    ['Last seen', lastSeenOf(data)],
    ['Joined', shortDateOf(person.date_joined)],
  ];
  if (screen.account) facts.push(['Sign-in', signInOf(screen.account)]);
  return <FactList facts={facts} className={classes.facts ?? ''} />;
};

/** The first names, and the number of the others. */
const Names = ({ items }: { items: { id: number; name: ReactNode }[] }) => {
  if (items.length === 0) return 'None';
  const rest = items.length - SHOWN;
  return (
    <>
      {items.slice(0, SHOWN).map(({ id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          {name}
        </Fragment>
      ))}
      {rest > 0 && ` +${rest}`}
    </>
  );
};

const roleOf = ({ memberships, screen }: PersonData): string => {
  if (screen.role !== null) return screen.role === 'superuser' ? 'Superuser' : 'Staff';
  const labels = new Set(
    memberships
      .filter(({ is_active }) => is_active)
      .flatMap(membershipRoles)
      .map(roleLabel),
  );
  return labels.size === 0 ? 'Member' : capitalized([...labels].join(', '));
};

/** The latest login or use of an app. Days of use are in UTC. */
const lastSeenOf = ({ person: { last_login: login }, screen: { last_use: use } }: PersonData): string => {
  if (use && (!login || use.day >= login.toISOString().slice(0, 10)))
    return `${shortDateOf(new Date(`${use.day}T12:00:00Z`))}, in ${use.app}`;
  return login ? shortDateOf(login) : 'Never';
};

const signInOf = ({
  has_password,
  password_expires_at: end,
  second_factors: factors,
}: NonNullable<PersonData['screen']['account']>): string => {
  if (!has_password) return 'No password yet';
  const password = end && end < new Date() ? 'Password expired' : 'Password';
  if (factors.some(({ kind }) => kind === 'passkey')) return `${password}, passkey`;
  return factors.length > 0 ? `${password}, second factor` : password;
};
