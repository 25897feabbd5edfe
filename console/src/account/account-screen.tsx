import { Alert, SimpleGrid, Stack } from '@mantine/core';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useSession } from '../layout/use-session.ts';
import { AddressForm } from './address-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { ProfileForm } from './profile-form.tsx';
import { SecondFactors } from './second-factors.tsx';
import { Sessions } from './sessions.tsx';
import { Tokens } from './tokens.tsx';
import { ViewedAs } from './viewed-as.tsx';

/** The user's own profile, address, password, second factors, sessions and API tokens, and who looked at apps as the user. */
export const AccountScreen = () => {
  const { user, confined_to: confinedTo, sso } = useSession();
  return (
    <>
      <ScreenHeader title="Account" lead={user.email} />
      <Stack>
        {confinedTo === null ? (
          <SimpleGrid cols={{ base: 1, lg: 2 }}>
            <ProfileForm />
            <AddressForm />
            <PasswordForm />
            <SecondFactors />
          </SimpleGrid>
        ) : (
          <Alert variant="light" title={`You have logged in with ${sso?.name ?? 'an identity provider'}`}>
            This session reaches one client. To change your name, address, password or second factors, log
            out, then log in with your password.
          </Alert>
        )}
        <Sessions />
        <Tokens />
        {confinedTo === null && <ViewedAs />}
      </Stack>
    </>
  );
};
