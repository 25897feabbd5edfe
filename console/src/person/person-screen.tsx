import { Avatar, Badge, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useSuspenseQueries } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canAdminister, canView, canViewAll } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { UsageByDay } from '../usage/usage-by-day.tsx';
import { HomePreview } from './home-preview.tsx';
import { PersonAccess } from './person-access.tsx';
import { PersonApps } from './person-apps.tsx';
import { PersonClients } from './person-clients.tsx';
import { PersonCredentials } from './person-credentials.tsx';
import { PersonGroups } from './person-groups.tsx';
import { PersonHistory } from './person-history.tsx';
import { PersonRoles } from './person-roles.tsx';
import { clientNames, stateOf } from './person-state.ts';
import { PersonTimeline } from './person-timeline.tsx';
import { ProfileForm } from './profile-form.tsx';

const route = getRouteApi('/people/$email');

const WINDOWS = [30, 90, 365] as const;

const READ_ONLY_NOTICE =
  'You cannot change this profile and these apps: only superusers change superusers and staff, and client admins can be changed when they no longer have that role.';

type Changes = 'account' | 'memberships' | 'nothing';

/** What is refused of a person whose account other clients use, and what is not. */
const sharedNotice = (changes: Changes, mayChangeApps: boolean, clients: string): string =>
  [
    'This person also belongs to clients that you do not administer.',
    changes === 'memberships' && `What you change here counts in ${clients} only.`,
    changes === 'nothing' &&
      mayChangeApps &&
      'You can change their apps, and their membership under Clients.',
    !mayChangeApps && 'Ask a superuser to change the profile or the apps.',
    'Only the person, superusers, and admins of all their clients see and end the logins.',
  ]
    .filter(Boolean)
    .join(' ');

/** Staff who administer a client see the account, and change memberships one by one. */
const changesOf = (
  { can_update, can_update_apps, is_shared }: Outputs['users']['permissions'],
  seesAccount: boolean,
): Changes => {
  if (can_update) return 'account';
  return is_shared && can_update_apps && !seesAccount ? 'memberships' : 'nothing';
};

export const PersonScreen = () => {
  const { email } = route.useParams();
  const [{ data: person }, { data: may }, { data: memberships }, { data: access }] = useSuspenseQueries({
    queries: [
      trpc.users.get.queryOptions({ email }),
      trpc.users.permissions.queryOptions({ email }),
      trpc.memberships.list.queryOptions({ email }),
      trpc.access.ofPerson.queryOptions({ email }),
    ],
  });
  const { roles, user } = useSession();
  const isAdmin = canAdminister(roles);
  const isSelf = email === user.email;
  const seesAccount = canViewAll(roles) || isSelf;
  const state = stateOf(person, memberships, seesAccount);
  const changes = changesOf(may, seesAccount);
  const clients = clientNames(memberships.filter(({ client }) => roles.admin_of.includes(client)));
  const [days, setDays] = useState<(typeof WINDOWS)[number]>(30);
  return (
    <>
      <ScreenHeader
        title={nameOf(person)}
        procedures={['users.get']}
        lead={
          <Group component="span" gap="sm">
            {person.email}
            {state !== 'active' && (
              <Badge variant="default">{state === 'inactive' ? 'Inactive' : 'Suspended'}</Badge>
            )}
          </Group>
        }
        actions={
          <>
            {isAdmin && !isSelf && <HomePreview email={email} name={nameOf(person)} />}
            <Avatar src={person.profile_avatar} alt="" size={56} />
          </>
        }
      />
      {isAdmin && !may.can_update && (
        <Text mb="md">
          {may.is_shared ? sharedNotice(changes, may.can_update_apps, clients) : READ_ONLY_NOTICE}
        </Text>
      )}
      <Stack>
        {canView(roles) && <PendingRequests key={`requests of ${email}`} subject={{ email }} />}
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <ProfileForm key={person.email} person={person} state={state} changes={changes} clients={clients} />
          <PersonApps
            key={`apps of ${person.email}`}
            person={person}
            access={access}
            isReadOnly={!may.can_update_apps}
          />
          <PersonGroups key={`groups of ${person.email}`} person={person} access={access} />
          {may.can_revoke && (
            <PersonAccess
              email={email}
              isSuperuser={roles.is_superuser && !isSelf}
              mayChangeAddress={!isSelf && (roles.is_superuser || person.clientadmin_of.length === 0)}
            />
          )}
          {roles.is_superuser && <PersonRoles email={email} />}
        </SimpleGrid>
      </Stack>
      <PersonClients
        key={`clients of ${email}`}
        email={email}
        memberships={memberships}
        state={state}
        may={may}
      />
      {may.can_revoke && <PersonCredentials key={`credentials of ${email}`} email={email} />}
      {canView(roles) && <UsageByDay subject={{ email }} days={days} windows={WINDOWS} onDays={setDays} />}
      {canView(roles) && <PersonTimeline email={email} />}
      {isAdmin && <PersonHistory email={person.email} />}
    </>
  );
};
