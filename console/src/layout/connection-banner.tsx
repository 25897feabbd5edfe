import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { queryClient, trpc } from '../api.ts';
import { useIsReachable } from '../connection.ts';

const RETRY_MS = 3_000;

/** Shown while the service cannot be reached. Asks again, and reloads what failed when it answers. */
export const ConnectionBanner = () => {
  const isReachable = useIsReachable();
  useQuery(
    trpc.sessions.current.queryOptions(undefined, { refetchInterval: isReachable ? false : RETRY_MS }),
  );
  useEffect(() => {
    if (isReachable)
      void queryClient.invalidateQueries({ predicate: ({ state }) => state.status === 'error' });
  }, [isReachable]);

  if (isReachable) return null;
  return (
    <Alert color="orange" role="status" mb="md" title="The service cannot be reached">
      Your changes are not saved until it is back. The page keeps trying.
    </Alert>
  );
};
