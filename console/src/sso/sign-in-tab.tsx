import { Stack } from '@mantine/core';
import { FactorPolicy } from '../clients/factor-policy.tsx';
import { Connections } from './connections.tsx';
import { Domains } from './domains.tsx';

type Props = { client: number; isReadOnly: boolean };

/** How members of a client log in: with its identity provider, and with a second factor. */
export const SignInTab = (props: Props) => (
  <Stack>
    <FactorPolicy id={props.client} isReadOnly={props.isReadOnly} />
    <Connections {...props} />
    <Domains {...props} />
  </Stack>
);
