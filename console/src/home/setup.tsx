import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useEffect } from 'react';
import { trpc } from '../api.ts';
import { lazyPart } from '../lazy-part.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

const Steps = lazyPart(() => import('./steps.tsx'), 'Steps');

/** A visit is no event of which the console hears. */
const REFRESH_MS = 10_000;

/**
 * What a new installation or client still needs until someone opens an app, and what can wait. Ticks itself. Who has seen it before
 * the first visit sees it until they hide it; others do not need it.
 */
export const SetupSteps = ({ client }: { client: number | undefined }) => {
  const { roles } = useSession();
  const [isHidden, setHidden] = useChoice('hidden', client);
  const [isBegun, setBegun] = useChoice('begun', client);
  const enabled = mayDo(roles, 'manage-people', client) && !isHidden;
  const setup = useQuery(
    trpc.attention.setup.queryOptions(
      { client },
      {
        enabled,
        refetchInterval: ({ state }) => (state.data?.invitation && !state.data.visit ? REFRESH_MS : false),
      },
    ),
  ).data;
  const isRunning = enabled && setup?.visit === false;
  useEffect(() => {
    if (isRunning) setBegun(true);
  }, [isRunning, setBegun]);
  if (!enabled || !setup || (setup.visit && !isBegun)) return null;
  return (
    <Suspense>
      <Steps client={client} setup={setup} onHide={() => setHidden(true)} />
    </Suspense>
  );
};

/** What this browser knows about the list of a client, or of all. */
const useChoice = (name: string, client: number | undefined) =>
  useLocalStorage({
    key: `setup-${name}-${client ?? 'all'}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
