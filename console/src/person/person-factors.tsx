import { Button, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { shortDateOf } from '../components/date-text.tsx';
import { SecondFactorList } from '../components/second-factor-list.tsx';
import { useSession } from '../layout/use-session.ts';
import { ResetFactorsDialog } from './reset-factors-dialog.tsx';
import type { PersonData } from './use-person.ts';

type Account = NonNullable<PersonData['screen']['account']>;

/** The second factors of a person, and their reset. */
export const PersonFactors = ({ email, account }: { email: string; account: Account }) => {
  const [isOpen, { open, close }] = useDisclosure();
  const isSelf = useSession().user.email === email;
  const { second_factors: factors, recovery_codes: codesLeft, factor_required_from: from } = account;
  return (
    <Stack className="card" component="section" aria-labelledby="second-factor" align="flex-start">
      <Title order={2} size="h3" id="second-factor">
        Second factor
      </Title>
      {factors.length === 0 ? (
        <Text>None. {stateOf(account)}</Text>
      ) : (
        <SecondFactorList factors={factors} codesLeft={codesLeft} />
      )}
      {factors.length > 0 && from && <Text>A passkey is required from {shortDateOf(from)} on.</Text>}
      {factors.length > 0 && !isSelf && (
        <Button variant="default" onClick={open}>
          Reset second factor
        </Button>
      )}
      <ResetFactorsDialog email={email} isOpen={isOpen} onClose={close} />
    </Stack>
  );
};

const stateOf = ({ factor_required_from: from, needs_passkey: needsPasskey }: Account): string => {
  if (!from) return 'A login asks for the password alone.';
  const what = needsPasskey ? 'A passkey' : 'One';
  return from > new Date()
    ? `${what} is required from ${shortDateOf(from)} on.`
    : `${what} is required: the next login sets it up.`;
};
