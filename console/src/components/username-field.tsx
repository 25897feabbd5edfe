import { useSession } from '../session/use-session.ts';

/** For password managers: whose password a form asks for. */
export const UsernameField = () => (
  <input hidden readOnly name="username" autoComplete="username" value={useSession().user.email} />
);
