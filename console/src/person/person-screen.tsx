import { Avatar, Badge, Group, SimpleGrid, Text } from '@mantine/core';
import { useSuspenseQueries } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canAdminister, canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { UsageByDay } from '../usage/usage-by-day.tsx';
import { PersonAccess } from './person-access.tsx';
import { PersonApps } from './person-apps.tsx';
import { PersonCredentials } from './person-credentials.tsx';
import { PersonHistory } from './person-history.tsx';
import { PersonRoles } from './person-roles.tsx';
import { PersonTimeline } from './person-timeline.tsx';
import { ProfileForm } from './profile-form.tsx';

const route = getRouteApi('/people/$email');

const WINDOWS = [30, 90, 365] as const;

const READ_ONLY_NOTICE =
  'You cannot change this profile and these apps: only superusers change superusers and staff, and client admins can be changed when they no longer have that role.';

/** Nothing else of a person whose account other clients use is offered. */
const sharedNotice = (canUpdateApps: boolean): string =>
  `This person also belongs to clients that you do not administer. ${
    canUpdateApps ? 'You can change which of your apps they may open. ' : ''
  }Only superusers change the profile, deactivate the person, and see or end their logins.`;

export const PersonScreen = () => {
  const { email } = route.useParams();
  const [{ data: person }, { data: may }] = useSuspenseQueries({
    queries: [trpc.users.get.queryOptions({ email }), trpc.users.permissions.queryOptions({ email })],
  });
  const { roles, user } = useSession();
  const isAdmin = canAdminister(roles);
  const [days, setDays] = useState<(typeof WINDOWS)[number]>(30);
  return (
    <>
      <ScreenHeader
        title={nameOf(person)}
        procedures={['users.get']}
        lead={
          <Group component="span" gap="sm">
            {person.email}
            {!person.is_active && <Badge variant="default">Inactive</Badge>}
          </Group>
        }
        actions={<Avatar src={person.profile_avatar} alt="" size={56} />}
      />
      {isAdmin && !may.can_update && (
        <Text mb="md">{may.is_shared ? sharedNotice(may.can_update_apps) : READ_ONLY_NOTICE}</Text>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <ProfileForm key={person.email} person={person} isReadOnly={!may.can_update} />
        <PersonApps
          key={`apps of ${person.email}`}
          person={person}
          isReadOnly={!may.can_update_apps}
          showsGrants={isAdmin}
        />
        {may.can_revoke && (
          <PersonAccess email={email} isSuperuser={roles.is_superuser && email !== user.email} />
        )}
        {roles.is_superuser && <PersonRoles email={email} />}
      </SimpleGrid>
      {may.can_revoke && <PersonCredentials key={`credentials of ${email}`} email={email} />}
      {canView(roles) && <UsageByDay subject={{ email }} days={days} windows={WINDOWS} onDays={setDays} />}
      {canView(roles) && <PersonTimeline email={email} />}
      {isAdmin && <PersonHistory email={person.email} />}
    </>
  );
};
