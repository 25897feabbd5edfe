import { Stack, Text } from '@mantine/core';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { ScreenHeader } from '../components/screen-header.tsx';
import { kindsOf, type Screen, screenAt } from './screens.ts';
import { useSession } from './use-session.ts';

const listOf = new Intl.ListFormat('en');

/** The screen of the address, unless it is for other users: then none of its calls are sent, which the API would refuse. */
export const ScreenOutlet = () => {
  const { roles } = useSession();
  const route = useRouterState({ select: ({ matches }) => matches.at(-1)?.routeId });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  return screen && !screen.isFor(roles) ? <Refusal screen={screen} /> : <Outlet />;
};

const Refusal = ({ screen }: { screen: Screen }) => (
  <>
    <ScreenHeader title={screen.label} />
    <Stack className="card" align="flex-start" role="alert">
      <Text>This screen is for {listOf.format(kindsOf(screen))}. A superuser can give you the role.</Text>
      <Link className="text-link" to="/">
        Go to your apps
      </Link>
    </Stack>
  </>
);
