import { isProblem } from '@steward/client';
import { useQuery } from '@tanstack/react-query';
import { AppList } from './app-list.tsx';
import { LoginForm } from './login-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { loginFlag, messageOf, steward, useTRPC } from './steward.ts';

/** Reloads the page, so that nothing of this user stays in memory. */
const logOut = async () => {
  await steward.logout();
  loginFlag.clear();
  location.reload();
};

export const Home = () => {
  const session = useQuery(
    useTRPC().sessions.current.queryOptions(undefined, { enabled: loginFlag.isSet() }),
  );
  if (session.error && !isProblem(session.error, 'unauthenticated'))
    return <p role="alert">{messageOf(session.error)}</p>;
  if (session.isLoading) return <p className="muted">Loading…</p>;
  if (session.data === undefined) return <LoginForm />;
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
