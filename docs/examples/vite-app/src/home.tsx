import { useQuery } from '@tanstack/react-query';
import { AppList } from './app-list.tsx';
import { LoginForm } from './login-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { messageOf, steward, useTRPC } from './steward.ts';

/** Reloads the page, so that nothing of this user stays in memory. */
const logOut = async () => {
  await steward.logout();
  location.reload();
};

export const Home = () => {
  const session = useQuery(useTRPC().sessions.current.queryOptions());
  if (session.error) return <p role="alert">{messageOf(session.error)}</p>;
  if (session.isPending) return <p className="muted">Loading…</p>;
  if (session.data === null) return <LoginForm />;
  return (
    <>
      <header>
        <h1>Hello {session.data.user.first_name}</h1>
        <button type="button" onClick={logOut}>
          Log out
        </button>
      </header>
      <AppList />
      <PasswordForm email={session.data.user.email} />
    </>
  );
};
