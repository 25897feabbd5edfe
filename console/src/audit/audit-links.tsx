import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';

export type Entry = Outputs['audit']['list'][number];

/** The actor: a person, the service, or a caller who was not logged in. */
export const ActorLink = ({ entry: { actor } }: { entry: Entry }) =>
  actor === '' ? 'Not logged in' : <PersonLink email={actor} />;

/** The changed object, with a link to its screen. */
export const TargetLink = ({ entry: { action, target, details, clients } }: { entry: Entry }) => {
  if (action.startsWith('invitation.'))
    return (
      <Link className="text-link" to="/invitations" search={{ search: target, status: 'all' }}>
        {target}
      </Link>
    );
  if (action.startsWith('mail.') && typeof details.id === 'number')
    return (
      <Link className="text-link" to="/mails/$id" params={{ id: String(details.id) }}>
        {target}
      </Link>
    );
  const [client] = clients;
  if (action.startsWith('client.') && client !== undefined)
    return (
      <Link className="text-link" to="/clients/$id" params={{ id: String(client) }}>
        {target}
      </Link>
    );
  if (target.includes('@')) return <PersonLink email={target} />;
  return action.startsWith('app.') ? <AppLink slug={target} /> : target;
};

const AppLink = ({ slug }: { slug: string }) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  const id = apps.data?.find((app) => app.slug === slug)?.id;
  return id === undefined ? (
    slug
  ) : (
    <Link className="text-link" to="/apps/$id" params={{ id }}>
      {slug}
    </Link>
  );
};

/** The address of a service account contains its id. */
const PersonLink = ({ email }: { email: string }) => {
  const { roles } = useSession();
  const account = email.match(/-(\d+)@service-account\.invalid$/)?.[1];
  if (account !== undefined)
    return mayDo(roles, 'configure') ? (
      <Link className="text-link" to="/service-accounts/$id" params={{ id: account }}>
        {email}
      </Link>
    ) : (
      email
    );
  return (
    <Link className="text-link" to="/people/$email" params={{ email }}>
      {email}
    </Link>
  );
};
