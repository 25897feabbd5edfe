import { useQuery } from '@tanstack/react-query';
import { messageOf, useTRPC } from './steward.ts';

export const AppList = () => {
  const apps = useQuery(useTRPC().apps.list.queryOptions({}));
  if (apps.error) return <p role="alert">{messageOf(apps.error)}</p>;
  return (
    <section aria-labelledby="apps" aria-busy={apps.isPending}>
      <h2 id="apps">My apps</h2>
      {apps.data?.length === 0 && <p>You have no apps yet.</p>}
      <ul>
        {apps.data?.map((app) => (
          <li key={app.id}>
            <span>{app.label}</span>
            <span className="muted">{app.in_maintenance ? app.maintenance_message : app.description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};
