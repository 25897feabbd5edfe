import { redirect } from 'next/navigation';
import { getSteward } from '../lib/steward.ts';

/** A server component. */
export default async function Page() {
  const { api } = await getSteward();
  const session = await api.sessions.current.query();
  if (session === null) redirect('/login');
  const apps = await api.apps.list.query({});
  return (
    <main>
      <h1>Hello {session.user.first_name}</h1>
      <ul>
        {apps.map(({ id, label }) => (
          <li key={id}>{label}</li>
        ))}
      </ul>
    </main>
  );
}
