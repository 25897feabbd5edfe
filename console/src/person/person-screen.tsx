import { Avatar, Badge, Group, SimpleGrid } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { canAdminister, useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { PersonApps } from './person-apps.tsx';
import { PersonHistory } from './person-history.tsx';
import { ProfileForm } from './profile-form.tsx';

const route = getRouteApi('/people/$email');

export const PersonScreen = () => {
  const { email } = route.useParams();
  const person = useSuspenseQuery(trpc.users.get.queryOptions({ email })).data;
  const isAdmin = canAdminister(useSession().roles);
  return (
    <>
      <ScreenHeader
        title={nameOf(person)}
        lead={
          <Group component="span" gap="sm">
            {person.email}
            {!person.is_active && <Badge variant="default">Inactive</Badge>}
          </Group>
        }
        actions={<Avatar src={person.profile_avatar} alt="" size={56} />}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <ProfileForm key={person.email} person={person} isReadOnly={!isAdmin} />
        <PersonApps key={`apps of ${person.email}`} person={person} isReadOnly={!isAdmin} />
      </SimpleGrid>
      {isAdmin && <PersonHistory email={person.email} />}
    </>
  );
};
