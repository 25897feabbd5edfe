import { steward } from '../api.ts';

export const logOut = async (): Promise<void> => {
  await steward.logout();
  location.assign('/login/');
};
