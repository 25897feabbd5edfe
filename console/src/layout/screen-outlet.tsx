import { Outlet, useRouterState } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { useOneClient } from './client-choice.ts';
import { ClientQuestion } from './client-chooser.tsx';
import { kindsOf, type Screen, screenAt } from './screens.ts';
import { useSession } from './use-session.ts';

const listOf = new Intl.ListFormat('en');

/** The screen of the address. If it is for other users, its calls, which the API would refuse, are not sent. */
export const ScreenOutlet = () => {
  const { roles } = useSession();
  const route = useRouterState({ select: ({ matches }) => matches.at(-1)?.routeId });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  if (screen && !screen.isFor(roles)) return <Refusal screen={screen} />;
  return screen?.clients === 'one' ? <OneClientOutlet screen={screen} /> : <Outlet />;
};

/** A screen for one client. With several clients and none chosen, it asks first. */
const OneClientOutlet = ({ screen }: { screen: Screen }) => {
  const { client, clients } = useOneClient();
  return client === undefined && clients.length > 1 ? <ClientQuestion title={screen.label} /> : <Outlet />;
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
