import { Alert } from '@mantine/core';
import { type App, versionOf } from '../apps/app-of.ts';
import { useSession } from '../layout/use-session.ts';

/** Says that an app cannot be opened yet: without a version and APP_URL, its address is its description in the API. */
export const AddressNotice = ({ app }: { app: App }) => {
  const leadsToApi = useSession().app_url.startsWith('/api/');
  return versionOf(app) === undefined && leadsToApi ? (
    <Alert role="note" color="orange" variant="light" mb="md">
      This app has no address yet: its links lead to its description in the API. Load a version of the app, or
      set APP_URL.
    </Alert>
  ) : null;
};
