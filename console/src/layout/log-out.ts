import type { CurrentSession } from '@steward/client';
import { steward } from '../api.ts';
import { forgetPlaces } from './recent-places.ts';

/** Ends the session, and forgets the visited places. If it began at an identity provider, the login page offers the logout there. */
export const logOut = async ({ sso }: CurrentSession): Promise<void> => {
  await steward.logout();
  forgetPlaces();
  location.assign(sso === null ? '/login/' : `/login/?logged_out=${sso.id}`);
};
