import type { CurrentSession } from '@steward/client';
import { steward } from '../api.ts';

/** Ends the session. If it began at an identity provider, the login page offers the logout there. */
export const logOut = async ({ sso }: CurrentSession): Promise<void> => {
  await steward.logout();
  location.assign(sso === null ? '/login/' : `/login/?logged_out=${sso.id}`);
};
