import { Anchor, Button, Skeleton, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useSession } from '../layout/use-session.ts';

const SHOWN = 5;
/** Limit of the service's list. */
const MAX_SHOWN = 1_000;
const TYPING_MS = 200;

type Props = { clientId: number; days: number };

/** The people whose passwords would have expired with this setting. */
export const ExpiryPreview = ({ clientId, days }: Props) => {
  const { roles } = useSession();
  const effect = roles.is_superuser
    ? 'would have to renew their password now'
    : 'would get a mail and have to renew their password within seven days';
  const [isWhole, setWhole] = useState(false);
  const [settled] = useDebouncedValue(days, TYPING_MS);
  const preview = useQuery(
    trpc.passwords.previewExpiry.queryOptions(
      { id: clientId, days: settled, limit: isWhole ? MAX_SHOWN : SHOWN },
      { enabled: Number.isInteger(settled), placeholderData: keepPreviousData },
    ),
  );
  if (preview.isLoading) return <Skeleton height={20} />;
  if (!preview.data) return <ProblemAlert error={preview.error} />;
  const { total, users } = preview.data;
  return (
    <Text size="sm" aria-live="polite" className="day-table">
      {total === 0 ? `No one ${effect}.` : `${countOf(total)} ${effect}: `}
      {users.map(({ email }, index) => (
        <span key={email}>
          {index > 0 && ', '}
          <Anchor component={Link} to={`/people/${email}`} size="sm">
            {email}
          </Anchor>
        </span>
      ))}
      {total > users.length &&
        (isWhole ? (
          ' and others.'
        ) : (
          <Button variant="subtle" size="compact-sm" onClick={() => setWhole(true)}>
            Show all {total.toLocaleString()}
          </Button>
        ))}
    </Text>
  );
};

const countOf = (people: number): string =>
  people === 1 ? 'One person' : `${people.toLocaleString()} people`;
