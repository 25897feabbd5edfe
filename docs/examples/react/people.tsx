import { QueryClientProvider, useQuery, useQueryClient } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isProblem } from 'steward/client';
import { LoginForm } from './login-form.tsx';
import { NewPersonForm } from './new-person-form.tsx';
import { queryClient, sentenceOf, steward, TRPCProvider, useTRPC } from './steward.ts';

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

const PeopleList = () => {
  const people = useQuery(useTRPC().users.list.queryOptions({}));
  if (people.error) return <p role="alert">{sentenceOf(people.error)}</p>;
  return (
    <section aria-labelledby="people" aria-busy={people.isPending}>
      <h2 id="people">Everybody</h2>
      <ul>
        {people.data?.map((user) => (
          <li key={user.email}>
            <span>
              {user.first_name} {user.last_name} <span className="muted">{user.email}</span>
            </span>
            <span className="muted">since {dates.format(user.date_joined)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};

const People = () => {
  const queries = useQueryClient();
  const current = useQuery(useTRPC().sessions.current.queryOptions());
  if (isProblem(current.error, 'not-signed-in')) return <LoginForm />;
  if (current.error) return <p role="alert">{sentenceOf(current.error)}</p>;
  if (!current.data) return <p className="muted">One moment …</p>;
  const logOut = () => steward.logout().then(() => queries.resetQueries());
  return (
    <>
      <header>
        <h1>Hello {current.data.user.first_name}</h1>
        <button type="button" onClick={logOut}>
          Log out
        </button>
      </header>
      <PeopleList />
      <NewPersonForm />
    </>
  );
};

const root = document.getElementById('root');
if (!root) throw new Error('There is no #root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={steward.api} queryClient={queryClient}>
        <People />
      </TRPCProvider>
    </QueryClientProvider>
  </StrictMode>,
);
