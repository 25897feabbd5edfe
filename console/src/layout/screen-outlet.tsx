import { Outlet, useRouterState } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { kindsOf, type Screen, screenAt } from './screens.ts';
import { useSession } from './use-session.ts';

const listOf = new Intl.ListFormat('en');

/** The screen of the address. If it is for other users, its calls, which the API would refuse, are not sent. */
export const ScreenOutlet = () => {
  const { roles } = useSession();
  const route = useRouterState({ select: ({ matches }) => matches.at(-1)?.routeId });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  return screen && !screen.isFor(roles) ? <Refusal screen={screen} /> : <Outlet />;
};

const Refusal = ({ screen }: { screen: Screen }) => (
  <>
    <ScreenHeader title={screen.label} />
    <div role="alert">
      <EmptyState
        title={`You have no access to ${screen.label}`}
        action={<HeaderLink to="/">Go to your apps</HeaderLink>}
      >
        This screen is for {listOf.format(kindsOf(screen))}. Ask an admin of your client, or a superuser, for
        the role.
      </EmptyState>
    </div>
  </>
);
