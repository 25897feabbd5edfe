import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { Notice } from '../components/notice.tsx';
import { useSession } from '../layout/use-session.ts';

/** States that an app cannot be opened yet, because it has no address and APP_URL is not set. */
export const AddressNotice = ({ id }: { id: string }) => {
  const isApi = useSession().app_url.startsWith('/api/');
  const status = useQuery(trpc.apps.status.queryOptions({ app_id: id }, { enabled: isApi }));
  // Other parts of the screen read the status too.
  return isApi && status.data?.launch_url === '' ? (
    <Notice>
      This app has no address yet: people who open it see a page that says so. Staff load a version whose
      package names one (launch_url in app.yaml), or the operator of the service sets APP_URL.
    </Notice>
  ) : null;
};
