import { Stack } from '@mantine/core';
import { Connections } from './connections.tsx';
import { Domains } from './domains.tsx';
import { FactorPolicy } from './factor-policy.tsx';
import { SetUp } from './set-up.tsx';
import { useSetUp } from './use-set-up.ts';

type Props = { client: number; isReadOnly: boolean };

/** How members of a client log in: with its identity provider, and with a second factor. A set-up takes the place of the settings. */
export const SignInTab = (props: Props) => {
  const { isOpen, id } = useSetUp();
  if (isOpen && !props.isReadOnly) return <SetUp client={props.client} id={id} />;
  return (
    <Stack>
      <FactorPolicy id={props.client} isReadOnly={props.isReadOnly} />
      <Connections {...props} />
      <Domains {...props} />
    </Stack>
  );
};
