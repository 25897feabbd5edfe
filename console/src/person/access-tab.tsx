import { Stack } from '@mantine/core';
import { canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { PendingRequests } from '../requests/pending-requests.tsx';
import { NeedsAttention } from './needs-attention.tsx';
import classes from './person.module.css';
import { PersonApps } from './person-apps.tsx';
import { PersonClients } from './person-clients.tsx';
import { PersonGroups } from './person-groups.tsx';
import type { PersonState } from './person-state.ts';
import { UsageCard } from './usage-comparison.tsx';
import type { PersonData } from './use-person.ts';

/** The apps that the person may open, and how they got them. */
export const AccessTab = ({ data, state }: { data: PersonData; state: PersonState }) => {
  const { person, may, memberships, access } = data;
  const { roles } = useSession();
  return (
    <div className={classes.columns}>
      <NeedsAttention data={data} state={state} />
      <Stack className={classes.main ?? ''}>
        {canView(roles) && <PendingRequests subject={{ email: person.email }} />}
        <PersonApps
          person={person}
          access={access}
          suspendedIn={memberships
            .filter(({ is_active }) => !is_active)
            .map(({ client: id, client_name }) => ({ id, name: client_name }))}
          isReadOnly={!may.can_update_apps}
        />
        <PersonGroups person={person} access={access} />
        <PersonClients
          email={person.email}
          name={nameOf(person)}
          memberships={memberships}
          state={state}
          may={may}
        />
      </Stack>
      {canView(roles) && <UsageCard email={person.email} />}
    </div>
  );
};
