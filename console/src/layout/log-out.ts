import { steward } from '../api.ts';

type Session = Awaited<ReturnType<typeof steward.api.sessions.current.query>>;

/** Ends the session. After one of an identity provider, the login page offers the logout there. */
export const logOut = async ({ sso }: Session): Promise<void> => {
  await steward.logout();
  location.assign(sso === null ? '/login/' : `/login/?logged_out=${sso.id}`);
};
