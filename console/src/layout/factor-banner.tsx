import { Anchor, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { shortDateOf } from '../components/date-text.tsx';
import { useSession } from '../session/use-session.ts';

/** Shown above the screen to users who need a second factor. A mere recommendation is shown only on the screen of the account. */
export const FactorBanner = () => {
  const { second_factor: status, confined_to: confinedTo } = useSession();
  return (
    status.required_from !== null &&
    confinedTo === null && (
      <Group className="card" role="status" px="md" py="xs" mb="md" gap="sm">
        <Text size="sm">{factorNoticeOf(status)}</Text>
        <Anchor component={Link} to="/account" size="sm">
          Set one up
        </Anchor>
      </Group>
    )
  );
};

type Status = ReturnType<typeof useSession>['second_factor'];

/** The notice for a user without a sufficient second factor; null if there is none. */
export const factorNoticeOf = ({
  required_from: from,
  needs_passkey,
  is_recommended,
}: Status): string | null => {
  const what = needs_passkey ? 'a passkey' : 'a second factor';
  if (from && from > new Date()) return `You need ${what} from ${shortDateOf(from)} on.`;
  if (from) return `Your next login needs ${what}.`;
  return is_recommended ? 'Protect your account with a second factor.' : null;
};
