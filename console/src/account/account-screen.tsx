import { SimpleGrid, Stack } from '@mantine/core';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useSession } from '../layout/use-session.ts';
import { AddressForm } from './address-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { ProfileForm } from './profile-form.tsx';
import { SecondFactors } from './second-factors.tsx';
import { Sessions } from './sessions.tsx';
import { Tokens } from './tokens.tsx';

/** The user's own profile, address, password, second factors, sessions and API tokens. */
export const AccountScreen = () => (
  <>
    <ScreenHeader
      title="Account"
      lead={useSession().user.email}
      procedures={['mfa.list', 'sessions.list', 'tokens.list']}
    />
    <Stack>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <ProfileForm />
        <AddressForm />
        <PasswordForm />
        <SecondFactors />
      </SimpleGrid>
      <Sessions />
      <Tokens />
    </Stack>
  </>
);
