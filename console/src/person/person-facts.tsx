import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { shortDateOf } from '../components/date-text.tsx';
import { capitalized } from '../components/detail-words.ts';
import { FactList } from '../components/fact-list.tsx';
import { canViewAll, mayDo, membershipRoles, roleLabel } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import classes from './person.module.css';
import type { PersonData } from './use-person.ts';

const SHOWN = 2;

/** The facts about a person that users need most often. */
export const PersonFacts = ({ data }: { data: PersonData }) => {
  const { person, memberships, access, screen } = data;
  const { roles } = useSession();
  const clients = memberships.map(({ client, client_name: name }) => ({
    id: client,
    name:
      canViewAll(roles) || mayDo(roles, 'view', client) ? (
        <Link to="/clients/$id" params={{ id: String(client) }}>
          {name}
        </Link>
      ) : (
        name
      ),
  }));
  const groups = access.groups.flatMap(({ id, client, name, is_member }) =>
    is_member
      ? {
          id,
          name: (
            <Link to="/groups/$client/$group" params={{ client: String(client), group: String(id) }}>
              {name}
            </Link>
          ),
        }
      : [],
  );
  const facts: [label: string, value: ReactNode][] = [
    [clients.length === 1 ? 'Client' : 'Clients', <Names key="clients" items={clients} />],
    ['Groups', <Names key="groups" items={groups} />],
    ['Role', roleOf(data)],
    ['Last seen', lastSeenOf(data)],
    ['Joined', shortDateOf(person.date_joined)],
  ];
  if (screen.account) facts.push(['Sign-in', signInOf(screen.account)]);
  return <FactList facts={facts} className={classes.facts ?? ''} />;
};

/** The first names, and the number of the others. */
const Names = ({ items }: { items: { id: number; name: ReactNode }[] }) => {
  if (items.length === 0) return 'None';
  const rest = items.length - SHOWN;
  return (
    <>
      {items.slice(0, SHOWN).map(({ id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          {name}
        </Fragment>
      ))}
      {rest > 0 && ` +${rest}`}
    </>
  );
};

const roleOf = ({ memberships, screen }: PersonData): string => {
  if (screen.role !== null) return screen.role === 'superuser' ? 'Superuser' : 'Staff';
  const labels = new Set(
    memberships
      .filter(({ is_active }) => is_active)
      .flatMap(membershipRoles)
      .map(roleLabel),
  );
  return labels.size === 0 ? 'Member' : capitalized([...labels].join(', '));
};

/** The latest login or use of an app. Days of use are in UTC. */
const lastSeenOf = ({ person: { last_login: login }, screen: { last_use: use } }: PersonData): string => {
  if (use && (!login || use.day >= login.toISOString().slice(0, 10)))
    return `${shortDateOf(new Date(`${use.day}T12:00:00Z`))}, in ${use.app}`;
  return login ? shortDateOf(login) : 'Never';
};

const signInOf = ({
  has_password,
  password_expires_at: end,
  second_factors: factors,
}: NonNullable<PersonData['screen']['account']>): string => {
  if (!has_password) return 'No password yet';
  const password = end && end < new Date() ? 'Password expired' : 'Password';
  if (factors.some(({ kind }) => kind === 'passkey')) return `${password}, passkey`;
  return factors.length > 0 ? `${password}, second factor` : password;
};
