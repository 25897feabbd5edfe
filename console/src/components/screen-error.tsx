import { Button, Stack, Text, Title } from '@mantine/core';
import { isProblem, isUnreachable } from '@steward/client';
import { Link } from '@tanstack/react-router';
import { RequestId } from './request-id.tsx';

type Props = { error: unknown };

/** Shown if a screen could not be loaded. Null: the address leads to no screen. */
export const ScreenError = ({ error }: Props) => {
  const isMissing = error === null || isProblem(error, 'not-found');
  return (
    <Stack className="card" align="flex-start" role="alert">
      <Title order={1} size="h2">
        {isMissing ? 'Not found' : 'This page could not be loaded'}
      </Title>
      <Text>{isMissing ? 'It does not exist, or you do not have access to it.' : messageOf(error)}</Text>
      <RequestId error={error} />
      <Link className="text-link" to="/">
        Go to Home
      </Link>
      {!isMissing && (
        <Button variant="default" onClick={() => location.reload()}>
          Try again
        </Button>
      )}
    </Stack>
  );
};

/** A sentence for the user about what happened. */
export const messageOf = (error: unknown): string => {
  if (isUnreachable(error)) return 'The service cannot be reached. Check your connection.';
  return error instanceof Error ? error.message : 'An unexpected error occurred.';
};
