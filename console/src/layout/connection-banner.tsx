import { Alert } from '@mantine/core';
import { IconCloudOff } from '@tabler/icons-react';
import { onlineManager, useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import { queryClient, sessionQuery } from '../api.ts';
import { useIsReachable } from '../connection.ts';

const RETRY_MS = 3_000;

/** Shown while the browser is offline or the service unreachable. Polls it, and reloads failed queries when it answers. */
export const ConnectionBanner = () => {
  const isReachable = useIsReachable();
  const isOnline = useSyncExternalStore(subscribe, () => onlineManager.isOnline());
  const router = useRouter();
  useQuery({ ...sessionQuery, refetchInterval: isReachable ? false : RETRY_MS });
  useEffect(() => {
    if (isReachable) return;
    return () => reload(router);
  }, [isReachable, router]);

  if (isReachable) return null;
  return (
    <Alert
      className="sticky-banner"
      variant="default"
      icon={<IconCloudOff aria-hidden color="var(--mantine-color-orange-filled)" />}
      role="status"
      mb="md"
      title={isOnline ? 'The service cannot be reached' : 'You are offline'}
    >
      Your changes are not saved until {isOnline ? 'it is back' : 'you are online again'}. The page keeps
      trying.
    </Alert>
  );
};

const subscribe = (onChange: () => void): (() => void) => onlineManager.subscribe(onChange);

/** Reloads failed queries and screens. */
const reload = (router: ReturnType<typeof useRouter>): void => {
  const failed = queryClient.getQueryCache().findAll({ predicate: ({ state }) => state.status === 'error' });
  // Without data, a screen shows the error in its place until the query is reset.
  for (const query of failed) if (query.state.data === undefined) query.reset();
  void queryClient.invalidateQueries({ predicate: (query) => failed.includes(query) });
  void router.invalidate();
};
