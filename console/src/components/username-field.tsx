import { useSession } from '../layout/use-session.ts';

/** Shows password managers whose password a form takes. */
export const UsernameField = () => (
  <input hidden readOnly name="username" autoComplete="username" value={useSession().user.email} />
);
